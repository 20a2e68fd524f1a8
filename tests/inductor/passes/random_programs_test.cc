// Passes keep what a program computes: random graphs are lowered and evaluated before and after
// each.
#include <random>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor {
namespace {

using aten_bridge::contiguous_strides;
using aten_bridge::Graph;
using aten_bridge::Node;
using aten_bridge::Value;

// Grows a graph by operators of every family, on few shapes so that values meet again. Sums of
// doubles with few digits are exact in any order.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed), graph_("random") {
    for (int i = 0; i < 3; ++i) values_.push_back(input("x", DType::kFloat64, random_shape()));
    ids_ = input("ids", DType::kInt64, {2, 3});
    for (int i = 0; i < 12; ++i) grow();
    std::vector<std::optional<Value>> outputs = {values_.back()};
    for (int i = 0; i < 2; ++i) outputs.push_back(any());
    graph_.set_outputs(std::move(outputs));
  }

  const Graph& graph() const { return graph_; }

 private:
  using Sizes = std::vector<SymExpr>;

  int below(int n) { return static_cast<int>(random_() % n); }
  Sizes random_shape() {
    const Sizes shapes[] = {{4, 6}, {2, 3, 4}, {6}, {4, 1}, {24}, {6, 4}};
    return shapes[below(6)];
  }
  Value any() { return values_[below(static_cast<int>(values_.size()))]; }

  static TensorType type(DType dtype, Sizes sizes) {
    TensorType t{dtype, {}, std::move(sizes), {}};
    t.strides = contiguous_strides(t.sizes);
    return t;
  }

  Value input(std::string_view name, DType dtype, Sizes sizes) {
    return graph_.add_input(aten_bridge::str_cat(name, graph_.inputs().size()),
                            type(dtype, std::move(sizes)));
  }

  void add(std::string op, std::vector<aten_bridge::Argument> args, TensorType type) {
    Node* node = graph_.add(std::move(op), std::move(args), {std::move(type)});
    values_.push_back(node->output(0));
  }

  void view_of(Value x, std::string op, std::vector<aten_bridge::Argument> args, Sizes sizes,
               Sizes strides) {
    args.insert(args.begin(), {"self", x});
    add(std::move(op), std::move(args),
        TensorType{x.type().dtype, {}, std::move(sizes), std::move(strides)});
  }

  // A value of x's shape, or a number.
  aten_bridge::ArgumentValue like(Value x) {
    for (int tries = 0; tries < 8; ++tries)
      if (Value y = any(); y.type().sizes == x.type().sizes) return y;
    return 1.5;
  }

  void grow() {
    const Value x = any();
    const Sizes sizes = x.type().sizes;
    const int rank = static_cast<int>(sizes.size());
    switch (below(12)) {
      case 0:
        return add("aten::add.Tensor", {{"self", x}, {"other", like(x)}, {"alpha", SymExpr(1)}},
                   type(DType::kFloat64, sizes));
      case 1:
        return add("aten::mul.Tensor", {{"self", x}, {"other", 0.5}}, type(DType::kFloat64, sizes));
      case 2:
        return add("aten::relu", {{"self", x}}, type(DType::kFloat64, sizes));
      case 3: {  // of one element a row: read by every column later
        if (rank < 2) return;
        Sizes kept = sizes;
        kept.back() = 1;
        return add(
            "aten::sum.dim_IntList",
            {{"self", x}, {"dim", Sizes{-1}}, {"keepdim", true}, {"dtype", std::monostate()}},
            type(DType::kFloat64, kept));
      }
      case 4: {
        if (rank != 2) return;
        return view_of(x, "aten::t", {}, {sizes[1], sizes[0]},
                       {x.type().strides[1], x.type().strides[0]});
      }
      case 5: {
        if (!is_contiguous(x.type())) return;
        const Sizes flat = {element_count(x.type())};
        return view_of(x, "aten::view", {{"size", flat}}, flat, contiguous_strides(flat));
      }
      case 6:
        return add("aten::clone", {{"self", x}, {"memory_format", SymExpr(0)}},
                   type(DType::kFloat64, sizes));
      case 7: {
        Sizes joined = sizes;
        joined.back() = joined.back() * 2;
        using List = std::vector<std::optional<Value>>;
        return add("aten::cat", {{"tensors", List{x, x}}, {"dim", SymExpr(-1)}},
                   type(DType::kFloat64, joined));
      }
      case 8: {
        const SymExpr last = sizes.back();
        if (last == SymExpr(1)) return;
        Sizes part = sizes;
        part.back() = last - 1;
        return view_of(
            x, "aten::slice.Tensor",
            {{"dim", SymExpr(-1)}, {"start", SymExpr(1)}, {"end", last}, {"step", SymExpr(1)}},
            part, x.type().strides);
      }
      case 9: {
        Sizes whole = sizes;
        whole.push_back(3);
        return add("aten::select_backward",
                   {{"grad_output", x},
                    {"input_sizes", whole},
                    {"dim", SymExpr(-1)},
                    {"index", SymExpr(1)}},
                   type(DType::kFloat64, whole));
      }
      case 10: {
        if (rank != 2) return;
        return add("aten::embedding",
                   {{"weight", x},
                    {"indices", ids_},
                    {"padding_idx", SymExpr(-1)},
                    {"scale_grad_by_freq", false},
                    {"sparse", false}},
                   type(DType::kFloat64, {2, 3, sizes[1]}));
      }
      default: {
        if (rank != 3 || !(sizes[0] == SymExpr(2)) || !(sizes[1] == SymExpr(3))) return;
        return add("aten::embedding_dense_backward",
                   {{"grad_output", x},
                    {"indices", ids_},
                    {"num_weights", SymExpr(5)},
                    {"padding_idx", SymExpr(2)},
                    {"scale_grad_by_freq", false}},
                   type(DType::kFloat64, {5, sizes[2]}));
      }
    }
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<Value> values_;
  Value ids_;
};

std::vector<testing::Array> inputs_of(const LoopProgram& program) {
  std::vector<testing::Array> inputs;
  for (int input : program.inputs)
    inputs.push_back(testing::random_array(program.buffers[input].type, 11 + input));
  return inputs;
}

TEST(Passes, KeepWhatRandomProgramsCompute) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    const RandomGraph random(seed);
    LoopProgram program = lower(random.graph());
    ASSERT_TRUE(verify(program).ok()) << verify(program) << "\n" << print(random.graph());
    const auto inputs = inputs_of(program);
    const auto expected = testing::evaluate(program, inputs);
    for (const Pass& pass : passes()) {
      const std::string before = print(program);
      pass.run(program);
      ASSERT_TRUE(verify(program).ok()) << pass.name << ": " << verify(program) << "\n"
                                        << before << print(program);
      ASSERT_EQ(testing::evaluate(program, inputs), expected)
          << "seed " << seed << ", pass " << pass.name << "\n"
          << before << print(program);
    }
  }
}

TEST(Passes, AreIdempotentTogether) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    LoopProgram program = lower(RandomGraph(seed).graph());
    run_passes(program);
    const std::string once = print(program);
    const size_t statements = program.body.size(), buffers = program.buffers.size();
    run_passes(program);
    EXPECT_EQ(program.body.size(), statements) << seed << "\n" << once << print(program);
    EXPECT_EQ(program.buffers.size(), buffers) << seed;
  }
}

}  // namespace
}  // namespace inductor
