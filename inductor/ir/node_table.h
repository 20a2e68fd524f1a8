// What is known of an expression's nodes. Most expressions are small, and a hash table would cost
// more than they do.
//   NodeTable<Expr> done;
//   if (const Expr* found = done.find(e)) return *found;
//   done.add(e, result);      // of a node that is not there yet
#pragma once

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

#include "aten_bridge/base/hash_map.h"
#include "inductor/ir/expr.h"

namespace inductor {

template <class T>
class NodeTable {
 public:
  const T* find(Expr e) const {
    if (!many_.empty()) {
      const auto it = many_.find(e.node());
      return it == many_.end() ? nullptr : &it->second;
    }
    const auto it = std::find_if(few_.begin(), few_.end(),
                                 [&](const auto& entry) { return entry.first == e.node(); });
    return it == few_.end() ? nullptr : &it->second;
  }

  void add(Expr e, T value) {
    if (few_.size() < kFew) {
      few_.emplace_back(e.node(), std::move(value));
      return;
    }
    if (many_.empty()) many_.insert(few_.begin(), few_.end());
    many_.emplace(e.node(), std::move(value));
  }

 private:
  static constexpr size_t kFew = 24;
  absl::InlinedVector<std::pair<const ExprNode*, T>, kFew> few_;
  HashMap<const ExprNode*, T> many_;  // empty, or all of them
};

}  // namespace inductor
