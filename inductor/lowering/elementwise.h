// Operators that compute each element of their result by one formula over the operands' elements.
//   Term relu(Elementwise& e) { return maximum(e["self"], e.number(0)); }
//   {"aten::relu", OpKind::kPointwise, pointwise<Promote::kToResult, relu>},
//
// Operands are broadcast and converted as ATen does: to the dtype that the operator computes in, by
// way of the common dtype. float16 and bfloat16 are computed in float32 and rounded by the store.
#pragma once

#include <string_view>

#include "inductor/lowering/row.h"
#include "inductor/lowering/term.h"

namespace inductor {

enum class Promote : uint8_t {
  kToResult,  // operands are converted to the result's dtype
  kOperands,  // to their common dtype; the result's is another (comparisons)
};

class Elementwise {
 public:
  // `common`: the dtype that operands are converted to.
  Elementwise(Builder& builder, const Node& node, const Nest& nest, DType common)
      : builder_(builder), node_(node), nest_(nest), common_(common) {}

  // A tensor or number argument, in the dtype that is computed in.
  Term operator[](std::string_view arg);
  // The same, for operators whose CPU kernels take numbers in the operands' own half type.
  Term operand(std::string_view arg);
  // A vector that stands along the rows of a matrix, not along its columns.
  Term row(std::string_view arg);
  // In its own dtype.
  Term raw(std::string_view arg);
  Term number(double value);

  bool has(std::string_view arg) const;  // not None
  double real(std::string_view arg) const;
  bool flag(std::string_view arg) const;
  std::string_view text(std::string_view arg) const;
  // The value of an argument that is a number known now.
  std::optional<double> known(std::string_view arg) const;

  DType common() const { return common_; }
  // Whether eager runs a CUDA kernel, whose formula is another here and there.
  bool on_cuda() const;
  // Whether a formula that rounds otherwise than eager on these dtypes must not be used.
  bool forbids(RoundsOtherwise otherwise) const;
  // No lowering for these arguments.
  Term refuse() { return {&builder_.pool()}; }

 private:
  Builder& builder_;
  const Node& node_;
  const Nest& nest_;
  DType common_;
};

using Formula = Term (*)(Elementwise&);
Verdict lower_pointwise(Builder& builder, const Node& node, Promote promote, Formula formula);

template <Promote promote, Formula formula>
Verdict pointwise(Builder& builder, const Node& node) {
  return lower_pointwise(builder, node, promote, formula);
}

// The dtype that ATen promotes a node's tensors and numbers to.
DType operands_dtype(const Node& node);

// Whether every tensor of a node is of real numbers and on one device.
Verdict is_plain(const Node& node);

}  // namespace inductor
