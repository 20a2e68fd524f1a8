// Cells of an LSTM and of a GRU after the products with their weights, as CUDA has them: each in
// one kernel. A forward keeps its gates, one beside the other, for the backward.
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/tanh_backward.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

Tensor with_bias(const Tensor& gates, const MaybeTensor& bias) {
  const Tensor x = opmath(gates);
  return bias ? x.add(opmath(*bias)) : x;
}

Tensor beside(const std::vector<Tensor>& parts, const Tensor& model) {
  return at::cat(parts, 1).to(model.scalar_type());
}

// A bias is added to every row.
Tensor gradient_of_bias(const Tensor& gates, bool has_bias) {
  return has_bias ? gates.sum(at::IntArrayRef{0}) : Tensor();
}

// hy, cy, and the gates: input, forget, cell, output.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const MaybeTensor& input_bias,
                                             const MaybeTensor& hidden_bias) {
  const auto gates =
      with_bias(input_gates, input_bias).add(with_bias(hidden_gates, hidden_bias)).chunk(4, 1);
  const Tensor i = gates[0].sigmoid(), f = gates[1].sigmoid(), g = gates[2].tanh();
  const Tensor o = gates[3].sigmoid();
  const Tensor cy = f.mul(opmath(cx)).add(i.mul(g));
  const Tensor hy = o.mul(cy.tanh());
  return {hy.to(cx.scalar_type()), cy.to(cx.scalar_type()), beside({i, f, g, o}, cx)};
}

// The gradients of the gates, of cx and of a bias.
std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const MaybeTensor& grad_hy,
                                                      const MaybeTensor& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
  if (!grad_hy && !grad_cy) return {};
  const auto gates = opmath(workspace).chunk(4, 1);
  const Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  const Tensor t = opmath(cy).tanh();
  const Tensor none = constant(0, t);
  const Tensor gh = grad_hy ? opmath(*grad_hy) : none, gc = grad_cy ? opmath(*grad_cy) : none;
  const Tensor c = at::tanh_backward(gh.mul(o), t).add(gc);
  const Tensor grad_gates =
      beside({at::sigmoid_backward(c.mul(g), i), at::sigmoid_backward(c.mul(opmath(cx)), f),
              at::tanh_backward(c.mul(i), g), at::sigmoid_backward(gh.mul(t), o)},
             workspace);
  return {grad_gates, c.mul(f).to(cx.scalar_type()), gradient_of_bias(grad_gates, has_bias)};
}

// hy, and: reset, update and new gate, hx, the hidden part of the new gate.
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                    const Tensor& hx, const MaybeTensor& input_bias,
                                    const MaybeTensor& hidden_bias) {
  const auto in = with_bias(input_gates, input_bias).chunk(3, 1);
  const auto hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const Tensor r = in[0].add(hidden[0]).sigmoid(), z = in[1].add(hidden[1]).sigmoid();
  const Tensor n = in[2].add(r.mul(hidden[2])).tanh(), x = opmath(hx);
  const Tensor hy = n.add(z.mul(x.sub(n)));
  return {hy.to(hx.scalar_type()), beside({r, z, n, x, hidden[2]}, hx)};
}

// The gradients of the input's and the hidden gates, of hx and of both biases.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  const auto kept = opmath(workspace).chunk(5, 1);
  const Tensor &r = kept[0], &z = kept[1], &n = kept[2], &x = kept[3], &hidden = kept[4];
  const Tensor grad = opmath(grad_hy);
  const Tensor gz = at::sigmoid_backward(grad.mul(x.sub(n)), z);
  const Tensor gn = at::tanh_backward(grad.mul(minus(1, z)), n);
  const Tensor gr = at::sigmoid_backward(gn.mul(hidden), r);
  const Tensor of_input = beside({gr, gz, gn}, workspace);
  const Tensor of_hidden = beside({gr, gz, gn.mul(r)}, workspace);
  return {of_input, of_hidden, grad.mul(z).to(grad_hy.scalar_type()),
          gradient_of_bias(of_input, has_bias), gradient_of_bias(of_hidden, has_bias)};
}

constexpr Decomposition kRows[] = {
    {"aten::_thnn_fused_lstm_cell", boxed<lstm_cell>},
    {"aten::_thnn_fused_lstm_cell_backward_impl", boxed<lstm_cell_backward>},
    {"aten::_thnn_fused_gru_cell", boxed<gru_cell>},
    {"aten::_thnn_fused_gru_cell_backward", boxed<gru_cell_backward>},
};

}  // namespace

std::span<const Decomposition> recurrent_rows() { return kRows; }

}  // namespace aten_bridge::decompose
