#include "inductor/emit/kernel_arguments.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/visit.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
// The first statements of the bodies around, outermost first.
using Path = std::vector<const Stmt*>;

struct Local {
  Path home;                     // of the innermost body that contains all uses
  std::vector<Symbol> loops;     // around the first use
  std::optional<SymExpr> index;  // of all uses; none: they differ
};

class Collector {
 public:
  Collector(const LoopProgram& program, KernelArguments& out) : program_(program), out_(out) {
    const auto on_gpu = [](const Buffer& b) { return b.type.device.kind == Device::Kind::kCuda; };
    on_gpu_ = std::any_of(program.buffers.begin(), program.buffers.end(), on_gpu);
  }

  void body(const std::vector<Stmt>& stmts) {
    if (stmts.empty()) return;
    path_.push_back(stmts.data());
    for (const Stmt& stmt : stmts) {
      if (const auto* loop = std::get_if<Loop>(&stmt)) {
        add_sizes(loop->extent);
        loops_.push_back(loop->var);
        body(loop->body);
        loops_.pop_back();
      } else {
        leaf(stmt);
      }
    }
    path_.pop_back();
  }

  void finish() {
    std::sort(out_.sizes.begin(), out_.sizes.end());
    int inputs = 0, outputs = 0, locals = 0, values = 0;
    for (int b : out_.buffers)
      out_.names[b] =
          out_.written.contains(b) ? str_cat("out", outputs++) : str_cat("in", inputs++);
    for (int b : out_.values) out_.names[b] = str_cat("host", values++);
    for (int b : locals_) {
      out_.names[b] = str_cat("tmp", locals++);
      const Local& local = local_of_.at(b);
      out_.locals_of[local.home.back()].push_back(b);
      if (is_variable(b, local)) out_.variables.insert(b);
    }
  }

 private:
  void leaf(const Stmt& stmt) {
    for (Expr root : expressions(stmt)) {
      for_each_node(std::vector<Expr>{root}, [&](Expr e) {
        if (e.op() == ScalarOp::load) add_buffer(e.buffer(), e.index());
        if (e.op() == ScalarOp::load || e.op() == ScalarOp::index) add_sizes(e.index());
      });
    }
    add_buffer(written_buffer(stmt), written_index(stmt));
    out_.written.insert(written_buffer(stmt));
    add_sizes(written_index(stmt));
  }

  void add_buffer(int b, const SymExpr& index) {
    if (program_.buffers[b].role != BufferRole::kLocal) {
      if (seen_.insert(b).second) (is_value(b) ? out_.values : out_.buffers).push_back(b);
      return;
    }
    auto [it, is_new] = local_of_.try_emplace(b, Local{path_, loops_, index});
    if (is_new) locals_.push_back(b);
    Local& local = it->second;  // its home shrinks to what all uses have in common
    const auto differ =
        std::mismatch(local.home.begin(), local.home.end(), path_.begin(), path_.end()).first;
    local.home.erase(differ, local.home.end());
    if (local.index != index) local.index.reset();
  }

  bool is_value(int b) const {
    return on_gpu_ && program_.buffers[b].type.device.kind == Device::Kind::kCpu;
  }

  bool is_variable(int b, const Local& local) const {
    if (element_count(program_.buffers[b].type) == SymExpr(1)) return true;
    if (!local.index) return false;
    const auto around_home = std::span(local.loops).first(local.home.size() - 1);
    const std::vector<Symbol> symbols = local.index->symbols();
    return std::all_of(symbols.begin(), symbols.end(), [&](Symbol s) {
      return std::find(around_home.begin(), around_home.end(), s) != around_home.end();
    });
  }

  void add_sizes(const SymExpr& e) {
    for (Symbol s : e.symbols())
      if (s.kind == 's' && std::find(out_.sizes.begin(), out_.sizes.end(), s) == out_.sizes.end())
        out_.sizes.push_back(s);
  }

  const LoopProgram& program_;
  KernelArguments& out_;
  bool on_gpu_ = false;  // what the program runs on
  Path path_;
  std::vector<Symbol> loops_;
  HashSet<int> seen_;
  std::vector<int> locals_;
  HashMap<int, Local> local_of_;
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
