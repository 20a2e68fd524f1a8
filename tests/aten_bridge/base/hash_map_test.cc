#include "aten_bridge/base/hash_map.h"

#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

// Each entry is found, each once, and nothing else is.
template <class Key, class Value>
void expect_same(const HashMap<Key, Value>& got, const std::map<Key, Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  size_t seen = 0;
  for (const auto& [key, value] : got) {
    ++seen;
    ASSERT_TRUE(want.contains(key));
    EXPECT_EQ(value, want.at(key));
    EXPECT_EQ(got.at(key), value);
  }
  EXPECT_EQ(seen, want.size());
}

template <class Key, class MakeKey>
void expect_like_the_standards(MakeKey make_key) {
  std::mt19937 random(1);
  for (int keys : {3, 9, 20, 300}) {
    HashMap<Key, int> got;
    std::map<Key, int> want;
    for (int step = 0; step < 3000; ++step) {
      const Key key = make_key(static_cast<int>(random() % keys));
      switch (random() % 5) {
        case 0:
        case 1:
          EXPECT_EQ(got.try_emplace(key, step).second, want.try_emplace(key, step).second);
          break;
        case 2:
          got[key] = want[key] = step;
          break;
        case 3:
          EXPECT_EQ(got.erase(key), want.erase(key));
          break;
        case 4:
          EXPECT_EQ(got.contains(key), want.contains(key));
          break;
      }
      if (step % 100 == 0) expect_same(got, want);
      if (step % 1000 == 999) {
        const auto is_even = [](const auto& entry) { return entry.second % 2 == 0; };
        EXPECT_EQ(erase_if(got, is_even), std::erase_if(want, is_even));
        expect_same(got, want);
      }
    }
    const HashMap<Key, int> copy = got;
    expect_same(copy, want);
  }
}

TEST(HashMap, DoesWhatTheStandardsDoes) {
  expect_like_the_standards<int>([](int n) { return n; });
  expect_like_the_standards<std::string>([](int n) { return std::to_string(n); });
  expect_like_the_standards<std::pair<int, bool>>(
      [](int n) { return std::pair(n / 2, n % 2 == 0); });
}

TEST(HashMap, KeepsTheOrderOfInsertion) {
  HashSet<int> set;
  std::vector<int> order;
  for (int n = 0; n < 100; ++n) order.push_back(n * 7919 % 101);
  for (int n : order) set.insert(n);
  EXPECT_EQ(std::vector<int>(set.begin(), set.end()), order);
}

TEST(HashMap, RefusesAKeyThatIsNotThere) {
  const HashMap<int, int> map = {{1, 2}};
  EXPECT_EQ(map.at(1), 2);
  EXPECT_THROW(map.at(2), InternalError);
}

// A key or a value that needs memory, when there is none.
struct Large {
  int number;
  static inline bool fails = false;

  explicit Large(int number) : number(number) {
    if (fails) throw std::bad_alloc();
  }
  Large(const Large& other) : Large(other.number) {}
  Large(Large&&) noexcept = default;
  Large& operator=(Large&&) noexcept = default;
  bool operator==(const Large&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Large& large) {
    return H::combine(std::move(h), large.number);
  }
};

TEST(HashMap, IsWholeAfterAnInsertionThatFoundNoMemory) {
  HashMap<Large, Large> map;
  for (int n = 0; n < 200; ++n) {
    const Large key(n);
    Large::fails = true;
    EXPECT_THROW(map.try_emplace(key, n), std::bad_alloc);
    Large::fails = false;
    ASSERT_EQ(map.size(), static_cast<size_t>(n));
    EXPECT_FALSE(map.contains(key));
    EXPECT_TRUE(map.try_emplace(key, n).second);
    for (int k = 0; k <= n; ++k) ASSERT_EQ(map.at(Large(k)).number, k);
  }
}

}  // namespace
}  // namespace aten_bridge
