// Products with an addend: the product alone goes to a library; the addend fuses into whoever reads
// the sum.
#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// beta * self + alpha * product; self is not read when beta is zero (ATen: NaN in it then does not
// count).
Tensor combine(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
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
  return combine(self, a.mv(b), beta, alpha);
}

Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
               const Scalar& alpha) {
  return combine(self, a.bmm(b), beta, alpha);
}

constexpr Decomposition kRows[] = {
    {"aten::addmm", boxed<addmm>},
    {"aten::addmv", boxed<addmv>},
    {"aten::baddbmm", boxed<baddbmm>},
};

}  // namespace

std::span<const Decomposition> matmul_rows() { return kRows; }

}  // namespace aten_bridge::decompose
