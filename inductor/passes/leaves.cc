#include "inductor/passes/leaves.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "aten_bridge/base/check.h"

namespace inductor {

FlatNest FlatNest::take(Stmt stmt) {
  FlatNest nest;
  while (auto* loop = std::get_if<Loop>(&stmt)) {
    TD_CHECK(loop->body.size() == 1, "an imperfect nest before scheduling");
    Stmt inner = std::move(loop->body[0]);
    loop->body.clear();
    nest.loops.push_back(std::move(*loop));
    stmt = std::move(inner);
  }
  nest.leaf = std::move(stmt);
  return nest;
}

Stmt FlatNest::rebuild() && {
  Stmt stmt = std::move(leaf);
  while (!loops.empty()) {
    Loop loop = std::move(loops.back());
    loops.pop_back();
    loop.body.push_back(std::move(stmt));
    stmt = std::move(loop);
  }
  return stmt;
}

std::vector<const Loop*> FlatNest::around() const {
  std::vector<const Loop*> all;
  for (const Loop& loop : loops) all.push_back(&loop);
  return all;
}

Stmt* leaf_of(Stmt& stmt) {
  Stmt* s = &stmt;
  while (auto* loop = std::get_if<Loop>(s)) s = &loop->body.at(0);
  TD_CHECK(!std::holds_alternative<Kernel>(*s), "a kernel before scheduling");
  return std::holds_alternative<ExternCall>(*s) ? nullptr : s;
}

const Stmt* leaf_of(const Stmt& stmt) { return leaf_of(const_cast<Stmt&>(stmt)); }

void for_each_nest(LoopProgram& program, const std::function<void(Stmt& leaf, Loops)>& visit) {
  for (Stmt& stmt : program.body) {
    std::vector<const Loop*> loops;
    Stmt* s = &stmt;
    while (auto* loop = std::get_if<Loop>(s)) {
      loops.push_back(loop);
      s = &loop->body.at(0);
    }
    if (Stmt* leaf = leaf_of(stmt)) visit(*leaf, loops);
  }
}

std::string joined_origins(const std::string& first, const std::string& second) {
  std::vector<std::string> all = absl::StrSplit(first, ", ", absl::SkipEmpty());
  for (absl::string_view origin : absl::StrSplit(second, ", ", absl::SkipEmpty()))
    if (std::find(all.begin(), all.end(), origin) == all.end()) all.emplace_back(origin);
  return absl::StrJoin(all, ", ");
}

}  // namespace inductor
