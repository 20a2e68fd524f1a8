// The hash tables of our own code: an insertion that finds no memory leaves them as they were.
//   HashMap<Value, int> index;
//   index.try_emplace(value, 3);
//   for (const auto& [value, number] : index) ...
//   HashSet<std::string> names;
//   if (!names.insert(name).second) ...
//
// Law
//  - Keys are what absl::Hash takes, and never change. Moving entries throws nothing.
//  - Entries lie in a row, in order of insertion until one is erased: then the last one takes its
//    place. An insertion may move all of them.
//  - What the standard's tables have of these names means the same; at() is checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"

#include "aten_bridge/base/check.h"

namespace aten_bridge {
namespace internal {

// Few entries are searched one by one; more have slots, in which one lies at its hash or behind it.
template <class Key, class Entry>
class HashTable {
 public:
  using value_type = Entry;
  // Keys of a set are its entries.
  using iterator =
      std::conditional_t<std::is_same_v<Key, Entry>, typename std::vector<Entry>::const_iterator,
                         typename std::vector<Entry>::iterator>;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  void reserve(size_t entries) { entries_.reserve(entries); }
  void clear() {
    entries_.clear();
    slots_.clear();
  }

  iterator find(const Key& key) { return begin() + place_of(key, hash_of(key)); }
  const_iterator find(const Key& key) const { return begin() + place_of(key, hash_of(key)); }
  bool contains(const Key& key) const { return find(key) != end(); }

  std::pair<iterator, bool> insert(Entry entry) {
    const uint32_t hash = hash_of(key_of(entry));
    const size_t place = place_of(key_of(entry), hash);
    const bool is_new = place == size();
    if (is_new) append(hash, std::move(entry));
    return {begin() + place, is_new};
  }
  template <class Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(Entry(*first));
  }

  size_t erase(const Key& key) {
    const auto found = find(key);
    if (found == end()) return 0;
    erase(found);
    return 1;
  }
  // The iterator that it returns is at the entry that has taken the place.
  iterator erase(const_iterator at) {
    const size_t place = at - entries_.cbegin();
    if (!slots_.empty()) {
      close(slot_of(place));
      if (place + 1 < size()) slots_[slot_of(size() - 1)].entry = place + 1;
    }
    if (place + 1 < size()) entries_[place] = std::move(entries_.back());
    entries_.pop_back();
    return begin() + place;
  }
  template <class Predicate>
  friend size_t erase_if(HashTable& table, Predicate predicate) {
    const size_t before = table.size();
    for (auto it = table.begin(); it != table.end();)
      predicate(std::as_const(*it)) ? void(it = table.erase(it)) : void(++it);
    return before - table.size();
  }

 protected:
  static const Key& key_of(const Entry& entry) {
    if constexpr (std::is_same_v<Key, Entry>)
      return entry;
    else
      return entry.first;
  }
  // 0 where no slot is looked for.
  uint32_t hash_of(const Key& key) const {
    return slots_.empty() && size() < kFew ? 0 : static_cast<uint32_t>(absl::Hash<Key>()(key));
  }
  // The size where there is none.
  size_t place_of(const Key& key, uint32_t hash) const {
    if (slots_.empty())
      return std::find_if(entries_.begin(), entries_.end(),
                          [&](const Entry& e) { return key_of(e) == key; }) -
             entries_.begin();
    for (size_t i = hash;; ++i) {
      const Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.entry == 0) return size();
      if (slot.hash == hash && key_of(entries_[slot.entry - 1]) == key) return slot.entry - 1;
    }
  }
  void append(uint32_t hash, Entry entry) {
    if (2 * size() >= slots_.size() && size() >= kFew) grow();
    entries_.push_back(std::move(entry));
    if (!slots_.empty()) fill(slots_, {hash, static_cast<uint32_t>(size())});
  }
  std::vector<Entry> entries_;

 private:
  static constexpr size_t kFew = 8;
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = 0;  // its place and 1; 0: free
  };

  static void fill(std::vector<Slot>& slots, Slot slot) {
    size_t i = slot.hash;
    while (slots[i & (slots.size() - 1)].entry != 0) ++i;
    slots[i & (slots.size() - 1)] = slot;
  }
  void grow() {
    std::vector<Slot> more(std::max<size_t>(4 * kFew, 2 * slots_.size()));
    for (size_t i = 0; i < size(); ++i)
      fill(more, {static_cast<uint32_t>(absl::Hash<Key>()(key_of(entries_[i]))),
                  static_cast<uint32_t>(i + 1)});
    slots_ = std::move(more);
  }
  size_t slot_of(size_t place) const {
    size_t i = absl::Hash<Key>()(key_of(entries_[place]));
    while (slots_[i & (slots_.size() - 1)].entry != place + 1) ++i;
    return i & (slots_.size() - 1);
  }
  // Frees a slot: those behind it that belong before it move up.
  void close(size_t free) {
    const size_t last = slots_.size() - 1;
    for (size_t i = (free + 1) & last; slots_[i].entry != 0; i = (i + 1) & last) {
      const size_t home = slots_[i].hash & last;
      if (((i - home) & last) < ((i - free) & last)) continue;
      slots_[free] = slots_[i];
      free = i;
    }
    slots_[free] = {};
  }

  std::vector<Slot> slots_;  // a power of two, at least half of them free; none for few entries
};

}  // namespace internal

template <class Key, class Value>
class HashMap : public internal::HashTable<Key, std::pair<Key, Value>> {
  using Table = internal::HashTable<Key, std::pair<Key, Value>>;

 public:
  HashMap() = default;
  HashMap(std::initializer_list<std::pair<Key, Value>> entries) {
    this->insert(entries.begin(), entries.end());
  }

  template <class... Arguments>
  std::pair<typename Table::iterator, bool> try_emplace(const Key& key, Arguments&&... arguments) {
    const uint32_t hash = this->hash_of(key);
    const size_t place = this->place_of(key, hash);
    const bool is_new = place == this->size();
    if (is_new) this->append(hash, {key, Value(std::forward<Arguments>(arguments)...)});
    return {this->begin() + place, is_new};
  }
  template <class Given>
  auto emplace(const Key& key, Given&& value) {
    return try_emplace(key, std::forward<Given>(value));
  }
  template <class Given>
  auto insert_or_assign(const Key& key, Given&& value) {
    auto result = try_emplace(key, std::forward<Given>(value));
    if (!result.second) result.first->second = std::forward<Given>(value);
    return result;
  }
  Value& operator[](const Key& key) { return try_emplace(key).first->second; }
  const Value& at(const Key& key) const {
    const auto found = this->find(key);
    TD_CHECK(found != this->end(), "a key that is not there");
    return found->second;
  }
  Value& at(const Key& key) { return const_cast<Value&>(std::as_const(*this).at(key)); }
};

template <class Key>
class HashSet : public internal::HashTable<Key, Key> {
 public:
  HashSet() = default;
  HashSet(std::initializer_list<Key> keys) { this->insert(keys.begin(), keys.end()); }

  template <class... Arguments>
  auto emplace(Arguments&&... arguments) {
    return this->insert(Key(std::forward<Arguments>(arguments)...));
  }
};

}  // namespace aten_bridge
