// Operators that read self in another order.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/place.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;

int result_rank(const Node& node) { return static_cast<int>(node.outputs[0]->sizes.size()); }

Verdict flip(Builder& b, const Node& node) {
  return reorder(b, node, [&](Places at) {
    for (const SymExpr& d : integers(node, "dims")) {
      if (at.empty()) break;
      const int dim = wrapped(d.as_constant(), result_rank(node));
      at[dim] = node.outputs[0]->sizes[dim] - 1 - at[dim];
    }
    return at;
  });
}

Verdict repeat(Builder& b, const Node& node) {
  const std::vector<SymExpr>& sizes = b.ref(node, "self").sizes;
  return reorder(b, node, [&](Places at) {
    const size_t added = at.size() - sizes.size();
    for (size_t d = 0; d < sizes.size(); ++d) at[added + d] = mod(at[added + d], sizes[d]);
    return at;
  });
}

// Without dims, all elements as one row.
Verdict roll(Builder& b, const Node& node) {
  const std::vector<SymExpr>& sizes = node.outputs[0]->sizes;
  const std::vector<SymExpr> shifts = integers(node, "shifts"), dims = integers(node, "dims");
  return reorder(b, node, [&](Places at) {
    for (size_t n = 0; n < dims.size() && !at.empty(); ++n) {
      const int dim = wrapped(dims[n].as_constant(), result_rank(node));
      at[dim] = mod(at[dim] - shifts[n], sizes[dim]);
    }
    if (!dims.empty()) return at;
    SymExpr rest = 0, count = 1;
    for (size_t d = 0; d < at.size(); ++d) {
      rest = rest * sizes[d] + at[d];
      count = count * sizes[d];
    }
    rest = mod(rest - shifts[0], count);
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = d == 0 ? rest : mod(rest, sizes[d]);
      rest = floor_div(rest, sizes[d]);
    }
    return at;
  });
}

Verdict rot90(Builder& b, const Node& node) {
  const std::vector<SymExpr>& sizes = b.ref(node, "self").sizes;
  return reorder(b, node, [&](Places at) {
    const std::vector<SymExpr> dims = integers(node, "dims");
    const int d0 = wrapped(dims[0].as_constant(), result_rank(node));
    const int d1 = wrapped(dims[1].as_constant(), result_rank(node));
    const SymExpr a = at[d0], c = at[d1];
    const int64_t turns = ((integer(node, "k").as_constant() % 4) + 4) % 4;
    if (turns % 2 == 1) {
      at[d0] = turns == 1 ? c : sizes[d0] - 1 - c;
      at[d1] = turns == 1 ? sizes[d1] - 1 - a : a;
    } else if (turns == 2) {
      at[d0] = sizes[d0] - 1 - a;
      at[d1] = sizes[d1] - 1 - c;
    }
    return at;
  });
}

// Channels become r x r places of a finer image.
Verdict pixel_shuffle(Builder& b, const Node& node) {
  return reorder(b, node, [&](Places at) {
    const SymExpr r = integer(node, "upscale_factor");
    SymExpr &channel = at[at.size() - 3], &y = at[at.size() - 2], &x = at[at.size() - 1];
    channel = channel * r * r + mod(y, r) * r + mod(x, r);
    y = floor_div(y, r);
    x = floor_div(x, r);
    return at;
  });
}
Verdict pixel_unshuffle(Builder& b, const Node& node) {
  return reorder(b, node, [&](Places at) {
    const SymExpr r = integer(node, "downscale_factor");
    SymExpr &channel = at[at.size() - 3], &y = at[at.size() - 2], &x = at[at.size() - 1];
    y = y * r + mod(floor_div(channel, r), r);
    x = x * r + mod(channel, r);
    channel = floor_div(channel, r * r);
    return at;
  });
}

// Channels counted by groups become channels counted across groups.
Verdict channel_shuffle(Builder& b, const Node& node) {
  return reorder(b, node, [&](Places at) {
    const SymExpr groups = integer(node, "groups");
    const SymExpr each = floor_div(node.outputs[0]->sizes[1], groups);
    at[1] = mod(at[1], groups) * each + floor_div(at[1], groups);
    return at;
  });
}

// a[i + 1] * b[i + 2] - a[i + 2] * b[i + 1], i modulo 3.
Term cross_product(Builder& b, const Node& node, const Nest& nest) {
  const int dim = dimension(node, "dim", result_rank(node));
  const DType dtype = node.outputs[0]->dtype;
  const auto read = [&](std::string_view arg, int ahead) {
    Places at = nest.vars;
    at[dim] = mod(at[dim] + ahead, 3);
    return cast(compute_dtype(dtype), {&b.pool(), b.load(b.ref(node, arg), at)});
  };
  return read("self", 1) * read("other", 2) - read("self", 2) * read("other", 1);
}
Verdict cross(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const Term value = cross_product(b, node, nest);
  if (!value) return Verdict::no("a product of bool");
  b.store(node.output(0), nest, value.expr);
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::flip", kPointwise, flip},
    {"aten::repeat", kPointwise, repeat},
    {"aten::roll", kPointwise, roll},
    {"aten::rot90", kPointwise, rot90},
    {"aten::pixel_shuffle", kPointwise, pixel_shuffle},
    {"aten::pixel_unshuffle", kPointwise, pixel_unshuffle},
    {"aten::channel_shuffle", kPointwise, channel_shuffle},
    {"aten::linalg_cross", kPointwise, cross, {.cpu = "bhfd", .cuda = "bhfd"}},
};

}  // namespace

LoweringRows reorder_rows() { return kRows; }

}  // namespace inductor
