// Products with an addend: the product alone goes to a library; the addend fuses into whoever reads
// the sum.
#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// As ATen's kernels take a factor of whole numbers.
Scalar factor(const Scalar& number, const Tensor& of) {
  const auto dtype = of.scalar_type();
  return c10::isIntegralType(dtype, /*includeBool=*/false) ? Scalar(number.toLong()) : number;
}

// beta * self + alpha * product; self is not read when beta is zero (ATen: NaN in it then does not
// count).
Tensor combine(const Tensor& self, const Tensor& product, const Scalar& given_beta,
               const Scalar& given_alpha) {
  const Scalar beta = factor(given_beta, product), alpha = factor(given_alpha, product);
  const Tensor scaled = alpha.equal(1) ? product : product.mul(alpha);
  if (beta.equal(0)) return scaled;
  return scaled.add(beta.equal(1) ? self : self.mul(beta));
}

Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
             const Scalar& alpha) {
  return combine(self, a.mm(b), beta, alpha);
}

Tensor addmv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
             const Scalar& alpha) {
  return combine(opmath(self), opmath(a).mv(opmath(b)), beta, alpha).to(a.scalar_type());
}

Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
               const Scalar& alpha) {
  return combine(self, a.bmm(b), beta, alpha);
}

// The batch is one more dimension that the product sums over.
Tensor addbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
              const Scalar& alpha) {
  TORCH_CHECK(a.dim() == 3 && b.dim() == 3 && a.sym_size(0) == b.sym_size(0) &&
                  a.sym_size(2) == b.sym_size(1),
              "addbmm takes equally many matrices that can be multiplied");
  const c10::SymInt depth = a.sym_size(0) * a.sym_size(2);
  const Tensor rows = a.transpose(0, 1).reshape_symint(SymInts{a.sym_size(1), depth});
  const Tensor columns = b.reshape_symint(SymInts{depth, b.sym_size(2)});
  return combine(self, rows.mm(columns), beta, alpha);
}

// As a sum, a product with a vector fuses into whoever reads it.
Tensor mv(const Tensor& self, const Tensor& vector) {
  TORCH_CHECK(self.dim() == 2 && vector.dim() == 1 && self.sym_size(1) == vector.sym_size(0) &&
                  self.scalar_type() == vector.scalar_type(),
              "mv takes a matrix and a vector of its row's length and dtype");
  return opmath(self).mul(opmath(vector)).sum(at::IntArrayRef{1}).to(self.scalar_type());
}

Tensor dot(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && self.sym_sizes() == other.sym_sizes() &&
                  self.scalar_type() == other.scalar_type(),
              "dot takes two vectors of one length and dtype");
  return opmath(self).mul(opmath(other)).sum().to(self.scalar_type());
}

// A product of half types is rounded before the addend comes to it. cuBLAS adds the addend in
// float32, as oneDNN does; there the fusion is worth the rounding.
template <size_t args>
bool adds_apart(const Stack& stack) {
  const Tensor& self = stack[stack.size() - args].toTensor();
  return self.is_cuda() || opmath_type(self.scalar_type()) == self.scalar_type();
}

// ATen multiplies bools by formulas of their own, or not at all.
template <size_t args>
bool is_number(const Stack& stack) {
  const Tensor& first = stack[stack.size() - args].toTensor();
  return !first.is_complex() && first.scalar_type() != at::kBool;
}

constexpr Decomposition kRows[] = {
    {"aten::addmm", boxed<addmm>, adds_apart<5>},
    {"aten::addmv", boxed<addmv>},
    {"aten::baddbmm", boxed<baddbmm>, adds_apart<5>},
    {"aten::addbmm", boxed<addbmm>},
    {"aten::mv", boxed<mv>, is_number<2>},
    {"aten::dot", boxed<dot>, is_number<2>},
    {"aten::vdot", boxed<dot>, is_number<2>},
};

}  // namespace

std::span<const Decomposition> matmul_rows() { return kRows; }

}  // namespace aten_bridge::decompose
