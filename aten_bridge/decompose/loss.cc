// Losses and their derivatives.
#include <ATen/ops/arange.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

constexpr int64_t kNone = 0, kMean = 1;

// A pointwise loss of prediction and target.
template <class F>
Tensor loss(const Tensor& self, const Tensor& target, int64_t reduction, F f) {
  return reduce_loss(f(opmath(self), opmath(target)), reduction)
      .to(c10::promoteTypes(self.scalar_type(), target.scalar_type()));
}

// What each element's derivative is multiplied with: the gradient, over n if the loss was a mean.
Tensor incoming(const Tensor& grad, const Tensor& elements, int64_t reduction) {
  const Tensor g = opmath(grad);
  return reduction == kMean ? g.div(Scalar(elements.sym_numel())) : g;
}

template <class F>
Tensor loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                     int64_t reduction, F slope) {
  const Tensor d = slope(opmath(self), opmath(target));
  return d.mul(incoming(grad, self, reduction)).to(self.scalar_type());
}

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return loss(self, target, reduction, [](const Tensor& x, const Tensor& t) {
    const Tensor d = x.sub(t);
    return d.mul(d);
  });
}

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         int64_t reduction) {
  return loss_backward(grad, self, target, reduction,
                       [](const Tensor& x, const Tensor& t) { return x.sub(t).mul(2); });
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss takes no negative beta");
  return loss(self, target, reduction, [&](const Tensor& x, const Tensor& t) {
    const Tensor z = x.sub(t).abs();
    if (beta == 0) return z;
    return select(z.lt(beta), z.mul(z).mul(0.5).div(beta), z.sub(0.5 * beta));
  });
}

// -scale below -bound, scale from bound on, `within` between.
Tensor outer_slopes(const Tensor& d, double bound, double scale, const Tensor& within) {
  return select(d.le(-bound), -scale, select(d.ge(bound), scale, within));
}

Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               int64_t reduction, double beta) {
  return loss_backward(grad, self, target, reduction, [&](const Tensor& x, const Tensor& t) {
    const Tensor d = x.sub(t);
    return beta == 0 ? d.sign() : outer_slopes(d, beta, 1, d.div(beta));
  });
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss takes a positive delta");
  return loss(self, target, reduction, [&](const Tensor& x, const Tensor& t) {
    const Tensor z = x.sub(t).abs();
    return select(z.le(delta), z.mul(z).mul(0.5), z.sub(0.5 * delta).mul(delta));
  });
}

Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                           int64_t reduction, double delta) {
  return loss_backward(grad, self, target, reduction, [&](const Tensor& x, const Tensor& t) {
    const Tensor d = x.sub(t);
    return outer_slopes(d, delta, delta, d);
  });
}

// log(1 + exp(-t x))
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return loss(self, target, reduction,
              [](const Tensor& x, const Tensor& t) { return t.neg().mul(x).exp().log1p(); });
}

Tensor soft_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  return loss_backward(grad, self, target, reduction, [](const Tensor& x, const Tensor& t) {
    const Tensor z = t.neg().mul(x).exp();
    return t.neg().mul(z).div(z.add(1));
  });
}

// ATen bounds both logarithms, so that a certain and wrong prediction costs 100, not infinity.
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                            int64_t reduction) {
  return loss(self, target, reduction, [&](const Tensor& x, const Tensor& t) {
    const Tensor log_not = at_least(x.neg().log1p(), -100), log = at_least(x.log(), -100);
    const Tensor losses = t.sub(1).mul(log_not).sub(t.mul(log));
    return weight ? losses.mul(opmath(*weight)) : losses;
  });
}

Tensor binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     const MaybeTensor& weight, int64_t reduction) {
  return loss_backward(grad, self, target, reduction, [&](const Tensor& x, const Tensor& t) {
    const Tensor slope = x.sub(t).div(at_least(minus(1, x).mul(x), 1e-12));
    return weight ? slope.mul(opmath(*weight)) : slope;
  });
}

// softplus(-x) as max(-x, 0) + log1p(exp(-|x|)) is safe for both signs.
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const MaybeTensor& weight, const MaybeTensor& pos_weight,
                                        int64_t reduction) {
  return loss(self, target, reduction, [&](const Tensor& x, const Tensor& t) {
    Tensor tail = at_least(x.neg(), 0).add(x.abs().neg().exp().log1p());
    if (pos_weight) tail = opmath(*pos_weight).sub(1).mul(t).add(1).mul(tail);
    const Tensor losses = minus(1, t).mul(x).add(tail);
    return weight ? losses.mul(opmath(*weight)) : losses;
  });
}

// What the negative log likelihood needs to know of a target: the classes are dimension `dim` of
// self, which target lacks.
struct Targets {
  int64_t dim;
  Tensor valid;        // not ignored
  Tensor in_range;     // the target; class 0 where ignored
  MaybeTensor weight;  // of each target's class

  Tensor weighted(const Tensor& x) const { return weight ? x.mul(*weight) : x; }
};

Targets read_targets(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                     int64_t ignore_index) {
  Targets t;
  t.dim = self.dim() == 1 ? 0 : 1;
  t.valid = target.ne(ignore_index);
  t.in_range = select(t.valid, target, 0);
  if (weight)
    t.weight =
        opmath(*weight).gather(0, t.in_range.reshape({-1})).reshape_symint(target.sym_sizes());
  return t;
}

std::tuple<Tensor, Tensor> nll_loss(const Tensor& self, const Tensor& target,
                                    const MaybeTensor& weight, int64_t reduction,
                                    const c10::SymInt& ignore_index) {
  const auto type = self.scalar_type();
  const Targets t = read_targets(self, target, weight, ignore_index.expect_int());
  const Tensor picked = opmath(self.gather(t.dim, t.in_range.unsqueeze(t.dim)).squeeze(t.dim));
  const Tensor losses = select(t.valid, t.weighted(picked).neg(), 0);
  if (reduction == kNone && self.dim() > 1) return {losses.to(type), constant(0, self)};

  const auto all = dims_from(losses, 0);
  const Tensor sum = sum_over(losses, all, false);
  const Tensor total = sum_over(
      t.weight ? select(t.valid, *t.weight, 0) : t.valid.to(opmath_type(type)), all, false);
  return {(reduction == kMean ? sum.div(total) : sum).to(type), total.to(type)};
}

// As a comparison with every class rather than a scatter, it fuses into log_softmax's derivative.
Tensor nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         const MaybeTensor& weight, int64_t reduction,
                         const c10::SymInt& ignore_index, const Tensor& total_weight) {
  const Targets t = read_targets(self, target, weight, ignore_index.expect_int());
  Tensor g = opmath(grad).neg();
  if (reduction == kMean) g = g.div(opmath(total_weight));
  const Tensor slope =
      select(t.valid, t.weighted(g).expand_symint(target.sym_sizes()), 0).unsqueeze(t.dim);

  SymInts class_sizes(self.dim(), 1);
  class_sizes[t.dim] = self.sym_size(t.dim);
  const Tensor classes =
      at::arange(Scalar(self.sym_size(t.dim)), target.options()).view_symint(class_sizes);
  return select(classes.eq(t.in_range.unsqueeze(t.dim)), slope, 0).to(self.scalar_type());
}

constexpr Decomposition kRows[] = {
    {"aten::mse_loss", boxed<mse_loss>},
    {"aten::mse_loss_backward", boxed<mse_loss_backward>},
    {"aten::smooth_l1_loss", boxed<smooth_l1_loss>},
    {"aten::smooth_l1_loss_backward", boxed<smooth_l1_loss_backward>},
    {"aten::huber_loss", boxed<huber_loss>},
    {"aten::huber_loss_backward", boxed<huber_loss_backward>},
    {"aten::soft_margin_loss", boxed<soft_margin_loss>},
    {"aten::soft_margin_loss_backward", boxed<soft_margin_loss_backward>},
    {"aten::binary_cross_entropy", boxed<binary_cross_entropy>},
    {"aten::binary_cross_entropy_backward", boxed<binary_cross_entropy_backward>},
    {"aten::binary_cross_entropy_with_logits", boxed<binary_cross_entropy_with_logits>},
    {"aten::nll_loss_forward", boxed<nll_loss>},
    {"aten::nll_loss_backward", boxed<nll_loss_backward>},
    {"aten::nll_loss2d_forward", boxed<nll_loss>},
    {"aten::nll_loss2d_backward", boxed<nll_loss_backward>},
};

}  // namespace

std::span<const Decomposition> loss_rows() { return kRows; }

}  // namespace aten_bridge::decompose
