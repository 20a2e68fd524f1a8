// Rows by operator: those of the program's tables, and those that join while it runs.
//   static RowIndex<Decomposition> index(decomposition_families());
//   const Decomposition* row = index.find("aten::glu");     // null where there is none
//   index.add({.op = "mylib::swish", ...}, function);       // from now on this row is found
//
// Law: any thread may find and add. A row that was found stays valid and never changes; rows that
// were replaced are kept. What was made of rows earlier is stale once rows_generation() has moved.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "aten_bridge/base/check.h"

namespace aten_bridge {

namespace internal {
inline std::atomic<uint64_t> rows_generation = 0;
}

// How often rows have joined an index of this process.
inline uint64_t rows_generation() noexcept {
  return internal::rows_generation.load(std::memory_order_acquire);
}

// Row: a copyable struct whose `op` is a std::string_view.
template <class Row>
class RowIndex {
 public:
  explicit RowIndex(std::span<const std::span<const Row>> families) {
    for (std::span<const Row> family : families)
      for (const Row& row : family)
        TD_CHECK(rows_.emplace(row.op, &row).second, "two rows for ", row.op);
  }

  const Row* find(std::string_view op) const {
    const std::shared_lock lock(mutex_);
    const auto found = rows_.find(op);
    return found == rows_.end() ? nullptr : found->second;
  }

  // `owned` holds what the row points to.
  void add(Row row, std::shared_ptr<const void> owned) {
    const std::unique_lock lock(mutex_);
    Added& added = added_.emplace_back(Added{std::string(row.op), row, std::move(owned)});
    added.row.op = added.op;
    rows_.insert_or_assign(std::string_view(added.op), &added.row);
    internal::rows_generation.fetch_add(1, std::memory_order_release);
  }

 private:
  struct Added {
    std::string op;
    Row row;
    std::shared_ptr<const void> owned;
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string_view, const Row*> rows_;
  std::deque<Added> added_;
};

}  // namespace aten_bridge
