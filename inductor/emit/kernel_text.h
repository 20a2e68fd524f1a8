// What the emitters of all languages do alike while they write one kernel: names, the loops around,
// lines of single statements.
#pragma once

#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "inductor/emit/emit.h"
#include "inductor/emit/kernel_arguments.h"
#include "inductor/emit/reductions.h"
#include "inductor/emit/values.h"

namespace inductor {

std::string for_head(std::string_view type, const std::string& name, const std::string& begin,
                     const std::string& end, const std::string& step);
inline SymExpr var(char kind, int index) { return SymExpr::symbol({kind, index}); }

class KernelText {
 public:
  KernelText(const KernelText&) = delete;
  KernelText& operator=(const KernelText&) = delete;

 protected:
  KernelText(const LoopProgram& program, const Kernel& kernel, const Dialect& dialect);
  ~KernelText() = default;

  // Name and text of a kernel that was written; functions stand before it.
  EmittedKernel finish(const std::string& text) const;
  std::string shape_text(const TensorType& type) const;  // "f32[8, 128]"

  DType dtype(int buffer) const { return program_.buffers[buffer].type.dtype; }
  std::string type_of(int buffer) const { return dialect_.type(dtype(buffer), 1); }
  std::string combine(ReduceOp op, DType dtype, int width, std::string a, std::string b) const;
  std::string combine(ReduceOp op, int buffer, int width, std::string a, std::string b) const {
    return combine(op, dtype(buffer), width, std::move(a), std::move(b));
  }

  // Names a loop's variable by its depth.
  std::string enter(const Loop& l);
  void leave(const Loop& l);
  // Whether the first statement that mentions a variable gives it its value in this very scope.
  bool is_defined_by_first_use(std::span<const Stmt> stmts, int b) const;
  // Declares a variable, or leaves that to its first line.
  void declare_variable(std::span<const Stmt> stmts, int b);
  // Writes the line of such a variable; false when it is declared already.
  bool define(int buffer, const std::string& text);
  // Names what the loop need not compute in every iteration.
  Values::Named hoist(const Loop& l);

  inline static const Values::Named kNothingNamed;
  // Stands for the kernel's name until the text, and with it the name, is complete.
  static constexpr std::string_view kNameMark = "KERNEL_NAME";

  const LoopProgram& program_;
  const Kernel& kernel_;
  const Dialect& dialect_;
  const KernelArguments arguments_;
  Names names_;
  Writer* writer_ = nullptr;
  std::vector<const Loop*> around_;

 private:
  HashSet<int> undeclared_;  // variables whose first line is still to come
};

}  // namespace inductor
