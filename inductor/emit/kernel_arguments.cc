#include "inductor/emit/kernel_arguments.h"

#include <algorithm>
#include <functional>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/visit.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using Path =
    std::vector<const Stmt*>;  // the first statements of the bodies around, outermost first

class Collector {
 public:
  Collector(const LoopProgram& program, KernelArguments& out) : program_(program), out_(out) {}

  void body(const std::vector<Stmt>& stmts) {
    if (stmts.empty()) return;
    path_.push_back(stmts.data());
    for (const Stmt& stmt : stmts) {
      if (const auto* loop = std::get_if<Loop>(&stmt)) {
        add_sizes(loop->extent);
        body(loop->body);
      } else {
        leaf(stmt);
      }
    }
    path_.pop_back();
  }

  void finish() {
    std::sort(out_.sizes.begin(), out_.sizes.end());
    int inputs = 0, outputs = 0, locals = 0;
    for (int b : out_.buffers)
      out_.names[b] =
          out_.written.contains(b) ? str_cat("out", outputs++) : str_cat("in", inputs++);
    for (int b : locals_) {
      out_.names[b] = str_cat("tmp", locals++);
      out_.locals_of[homes_.at(b).back()].push_back(b);
    }
  }

 private:
  void leaf(const Stmt& stmt) {
    for (Expr root : expressions(stmt)) {
      for_each_node(std::vector<Expr>{root}, [&](Expr e) {
        if (e.op() == ScalarOp::load) add_buffer(e.buffer());
        if (e.op() == ScalarOp::load || e.op() == ScalarOp::index) add_sizes(e.index());
      });
    }
    add_buffer(written_buffer(stmt));
    out_.written.insert(written_buffer(stmt));
    add_sizes(written_index(stmt));
  }

  void add_buffer(int b) {
    if (program_.buffers[b].role != BufferRole::kLocal) {
      if (seen_.insert(b).second) out_.buffers.push_back(b);
      return;
    }
    auto [it, is_new] = homes_.try_emplace(b, path_);
    if (is_new) locals_.push_back(b);
    Path& home = it->second;  // shrinks to what all uses have in common
    const auto differ = std::mismatch(home.begin(), home.end(), path_.begin(), path_.end()).first;
    home.erase(differ, home.end());
  }

  void add_sizes(const SymExpr& e) {
    for (Symbol s : e.symbols())
      if (s.kind == 's' && std::find(out_.sizes.begin(), out_.sizes.end(), s) == out_.sizes.end())
        out_.sizes.push_back(s);
  }

  const LoopProgram& program_;
  KernelArguments& out_;
  Path path_;
  absl::flat_hash_set<int> seen_;
  std::vector<int> locals_;
  absl::flat_hash_map<int, Path> homes_;
};

}  // namespace

KernelArguments kernel_arguments(const LoopProgram& program, const Kernel& kernel) {
  KernelArguments arguments;
  Collector collector(program, arguments);
  collector.body(kernel.body);
  collector.finish();
  return arguments;
}

}  // namespace inductor
