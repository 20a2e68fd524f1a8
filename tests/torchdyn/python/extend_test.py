"""register_decomposition, register_lowering: operators defined from outside give what eager gives."""
import re
import textwrap
import unittest

import torch
import torchdyn
from like_eager import LikeEager
from torchdyn import element
from torchdyn.explanation import Watched

NAMESPACE = "torchdyn_extend"


def custom(name, function, fake=None):
    """A custom operator that is `function` in eager."""
    op = torch.library.custom_op(f"{NAMESPACE}::{name}", function, mutates_args=())
    op.register_fake(fake or (lambda x, *_: torch.empty_like(x)))
    return op


class Extending(LikeEager):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def graph_of(self, graphs, index=0):
        return graphs[0].variants[-1]["graphs"][index]

    def one_kernel(self, graphs, index=0):
        graph = self.graph_of(graphs, index)
        self.assertEqual(graph["extern_calls"], [])
        self.assertEqual(len(graph["kernels"]), 1)
        return graph["kernels"][0]

    def run_example(self, function):
        """The indented code at the end of a docstring."""
        example = re.search(r"\n\n((?:    .*\n|\n)+)\s*$", textwrap.dedent("    " + function.__doc__))
        scope = {"torch": torch, "torchdyn": torchdyn, "element": element}
        exec(textwrap.dedent(example[1]), scope)
        return scope


class Decompositions(Extending):
    def test_the_example(self):
        scope = self.run_example(torchdyn.register_decomposition)
        op = scope["scaled_sigmoid"]
        self.assertEqual(scope["y"].shape, (4, 8))
        graphs = self.check(lambda x: op(x, 2.0) + 1, torch.randn(4, 8))
        self.one_kernel(graphs)

    def test_it_stands_for_the_operator_in_forward_and_backward(self):
        def swish(x: torch.Tensor, beta: float) -> torch.Tensor:
            return x * torch.sigmoid(beta * x)

        def swish_backward(grad: torch.Tensor, x: torch.Tensor, beta: float) -> torch.Tensor:
            s = torch.sigmoid(beta * x)
            return grad * (s + beta * x * s * (1 - s))
        op, derivative = custom("swish", swish), custom("swish_backward", swish_backward)
        op.register_autograd(
            lambda ctx, grad: (derivative(grad, *ctx.saved_tensors, ctx.beta), None),
            setup_context=lambda ctx, inputs, output: (ctx.save_for_backward(inputs[0]),
                                                       setattr(ctx, "beta", inputs[1])))
        torchdyn.register_decomposition(op)(swish)
        torchdyn.register_decomposition(derivative)(swish_backward)
        graphs = self.check(lambda x: op(x * 2, 1.5).sin(), torch.randn(3, 4, requires_grad=True))
        self.one_kernel(graphs, 0)
        self.one_kernel(graphs, 1)

    def test_one_of_atens_operators_is_replaced(self):
        @torchdyn.register_decomposition(torch.ops.aten.softplus.default)
        def _(x, beta=1, threshold=20):
            return torch.where(x * beta > threshold, x, torch.log1p(torch.exp(x * beta)) / beta)
        graphs = self.check(lambda x: torch.nn.functional.softplus(x, 2.0), torch.randn(5))
        self.assertIn("aten::log1p", self.graph_of(graphs)["text"])

    def test_several_results_and_keyword_arguments(self):
        library = torch.library.Library(NAMESPACE, "FRAGMENT")
        library.define("parts(Tensor x, *, float scale) -> (Tensor, Tensor)")
        library.impl("parts", lambda x, *, scale: (x.floor() * scale, x.frac() * scale),
                     "CompositeExplicitAutograd")

        @torchdyn.register_decomposition(torch.ops.torchdyn_extend.parts)
        def _(x, *, scale):
            whole = x.floor()
            return whole * scale, (x - x.trunc()) * scale
        self.check(lambda x: torch.ops.torchdyn_extend.parts(x, scale=3.0), torch.randn(4))
        library._destroy()

    def test_what_is_replaced_may_depend_on_values(self):
        def maybe_negated(x: torch.Tensor) -> torch.Tensor:
            return -x if x.sum() > 0 else x.clone()
        op = custom("maybe_negated", maybe_negated)
        torchdyn.register_decomposition(op)(maybe_negated)
        watched = Watched()
        compiled = torch.compile(lambda x: op(x) + 1, backend=watched)
        for x in (torch.ones(3), -torch.ones(3), torch.ones(3)):
            torch.testing.assert_close(compiled(x), maybe_negated(x) + 1)
        self.check_reasons(watched, None)

    def test_a_result_that_is_the_argument_is_a_copy(self):
        def same(x: torch.Tensor) -> torch.Tensor:
            return x.clone()
        op = custom("same", same)
        torchdyn.register_decomposition(op)(lambda x: x)
        self.check(lambda x: op(x), torch.randn(3))

    def test_another_dtype_than_the_operators_runs_in_eager_with_the_reason(self):
        def doubled(x: torch.Tensor) -> torch.Tensor:
            return x * 2
        op = custom("doubled", doubled)
        torchdyn.register_decomposition(op)(lambda x: x.double() * 2)
        self.check(lambda x: op(x) + 1, torch.randn(3), eager_reason="gives f64[3], where")

    def test_what_it_raises_is_the_reason_for_eager(self):
        def tripled(x: torch.Tensor) -> torch.Tensor:
            return x * 3

        def broken(x):
            raise RuntimeError("not today")
        op = custom("tripled", tripled)
        torchdyn.register_decomposition(op)(broken)
        self.check(lambda x: op(x) + 1, torch.randn(3), eager_reason="raised: not today")

    def test_one_that_calls_itself_runs_in_eager_with_the_reason(self):
        def endless(x: torch.Tensor) -> torch.Tensor:
            return x * 3
        op = custom("endless", endless)
        torchdyn.register_decomposition(op)(lambda x: op(x))
        self.check(lambda x: op(x) + 1, torch.randn(3), eager_reason="endless calls")

    def test_a_captured_tensor_runs_in_eager_with_the_reason(self):
        weight = torch.randn(3)

        def weighted(x: torch.Tensor) -> torch.Tensor:
            return x * weight
        op = custom("weighted", weighted)
        torchdyn.register_decomposition(op)(weighted)
        self.check(lambda x: op(x) + 1, torch.randn(3), eager_reason="aten::mul")

    def test_eagers_bits_are_the_operators_own(self):
        def quartered(x: torch.Tensor) -> torch.Tensor:
            return x / 4
        op = custom("quartered", quartered)
        torchdyn.register_decomposition(op)(lambda x: x * 0.25)
        graphs = self.check(lambda x: op(x), torch.randn(3), options={"numerics": "eager"})
        self.assertEqual(self.graph_of(graphs)["extern_calls"], [f"{NAMESPACE}::quartered"])


class Lowerings(Extending):
    def test_the_example(self):
        scope = self.run_example(torchdyn.register_lowering)
        op = scope["soft_clip"]
        self.assertEqual(scope["y"].shape, (4, 8))
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            graphs = self.check(lambda x: op(x + 1, 2.0) * 3, torch.randn(4, 8, dtype=dtype))
            self.one_kernel(graphs)
            torch._dynamo.reset()

    def test_the_example_of_the_vocabulary(self):
        text = element.__doc__.split("\n\n")[1:3]
        scope = {}
        exec(textwrap.dedent("\n".join(text)), scope)

        def softshrink(x: torch.Tensor, bound: float) -> torch.Tensor:
            return torch.nn.functional.softshrink(x, bound)
        op = custom("softshrink", softshrink)
        torchdyn.register_lowering(op)(scope["softshrink"])
        self.one_kernel(self.check(lambda x: op(x, 0.5) + 1, torch.randn(40)))

    def test_with_a_registered_gradient_both_directions_fuse(self):
        def squash(x: torch.Tensor, beta: float) -> torch.Tensor:
            return x / (1 + beta * x.abs())

        def squash_backward(grad: torch.Tensor, x: torch.Tensor, beta: float) -> torch.Tensor:
            return grad / (1 + beta * x.abs()) ** 2
        op, derivative = custom("squash", squash), custom("squash_backward", squash_backward)
        op.register_autograd(
            lambda ctx, grad: (derivative(grad, *ctx.saved_tensors, ctx.beta), None),
            setup_context=lambda ctx, inputs, output: (ctx.save_for_backward(inputs[0]),
                                                       setattr(ctx, "beta", inputs[1])))
        torchdyn.register_lowering(op)(lambda x, beta: x / (1 + beta * abs(x)))
        torchdyn.register_lowering(derivative)(
            lambda grad, x, beta: grad / (1 + beta * abs(x)) ** 2)
        graphs = self.check(lambda x: op(x * 2, 1.5).sin(), torch.randn(3, 4, requires_grad=True))
        self.one_kernel(graphs, 0)
        self.one_kernel(graphs, 1)

    def test_operands_broadcast_and_bools_choose(self):
        def pick(mask: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.where(mask & (a < b), a, b) + mask
        op = custom("pick", pick, lambda mask, a, b: torch.empty_like(a))
        torchdyn.register_lowering(op)(
            lambda mask, a, b: element.where(mask & (a < b), a, b) + mask)
        self.one_kernel(self.check(lambda m, a, b: op(m, a, b) * 2, torch.tensor([True, False, True]),
                                   torch.randn(4, 3), torch.randn(4, 1)))

    def test_several_results(self):
        def parts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x.floor(), x - x.floor()
        op = custom("floor_and_rest", parts, lambda x: (torch.empty_like(x), torch.empty_like(x)))
        torchdyn.register_lowering(op)(lambda x: (element.floor(x), x - element.floor(x)))
        self.one_kernel(self.check(lambda x: op(x + 1), torch.randn(12)))

    def test_integers(self):
        def mixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return ((x // 3) ^ y) % 7
        op = custom("mixed", mixed)
        torchdyn.register_lowering(op)(lambda x, y: ((x // 3) ^ y) % 7)
        args = (torch.randint(-99, 99, (50,)), torch.randint(-99, 99, (50,)))
        self.one_kernel(self.check(lambda x, y: op(x, y) + 1, *args))

    def test_every_operation_that_torch_names_alike(self):
        for name in ("exp", "log1p", "tanh", "erf", "lgamma", "sqrt", "floor", "asinh"):
            with self.subTest(name):
                def call(x: torch.Tensor, name=name) -> torch.Tensor:
                    return getattr(torch, name)(x)

                def typed(x: torch.Tensor) -> torch.Tensor:
                    return call(x)
                op = custom(f"one_{name}", typed)
                torchdyn.register_lowering(op)(lambda x, name=name: getattr(element, name)(x))
                self.one_kernel(self.check(lambda x: op(x), torch.rand(20)))
                torch._dynamo.reset()

    def test_what_is_not_defined_on_a_dtype_is_an_extern_call(self):
        def shifted(x: torch.Tensor) -> torch.Tensor:
            return (x + 0.5).to(x.dtype)
        op = custom("shifted", shifted)
        torchdyn.register_lowering(op)(lambda x: x + 0.5)
        self.one_kernel(self.check(lambda x: op(x), torch.randn(3)))
        torch._dynamo.reset()
        graphs = self.check(lambda x: op(x), torch.arange(3))
        self.assertEqual(self.graph_of(graphs)["extern_calls"], [f"{NAMESPACE}::shifted"])

    def test_a_changed_definition_is_compiled_anew(self):
        def answer(x: torch.Tensor) -> torch.Tensor:
            return x + 1
        op = custom("answer", answer)
        compiled = torchdyn.backend(torch.fx.symbolic_trace(
            lambda x: torch.ops.torchdyn_extend.answer(x)), [])
        x = torch.randn(5)
        names = []
        for added in range(1, 12):  # more often than recompile_limit
            torchdyn.register_lowering(op)(lambda x, added=added: x + added)
            torch.testing.assert_close(compiled(x), x + added)
            names.append(compiled.variants[-1]["graphs"][0]["kernels"][0]["name"])
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("was registered", compiled.recompile_reasons[0])
        torchdyn.register_decomposition(op)(lambda x: x - 1)
        torch.testing.assert_close(compiled(x), x - 1)
        torchdyn.register_lowering(op)(lambda x: x + 1)
        torch.testing.assert_close(compiled(x), x + 1)


class Errors(Extending):
    def setUp(self):
        super().setUp()

        def plain(x: torch.Tensor, y: float) -> torch.Tensor:
            return x * y
        self.op = custom("plain", plain)

    def test_another_arity_names_the_schema(self):
        for register in (torchdyn.register_lowering, torchdyn.register_decomposition):
            with self.assertRaisesRegex(TypeError, r"does not take the arguments of .*plain\("):
                register(self.op)(lambda x: x)

    def test_a_branch_on_an_element(self):
        with self.assertRaisesRegex(TypeError, "element.where"):
            torchdyn.register_lowering(self.op)(lambda x, y: x if x > 0 else y)

    def test_an_element_where_a_number_is_wanted(self):
        import math
        with self.assertRaisesRegex(TypeError, "functions of torchdyn.element"):
            torchdyn.register_lowering(self.op)(lambda x, y: math.exp(x))

    def test_an_unknown_operation_lists_the_known_ones(self):
        with self.assertRaisesRegex(AttributeError, "no operation 'swish'.* tanh"):
            torchdyn.register_lowering(self.op)(lambda x, y: element.swish(x))

    def test_an_operation_with_other_operands(self):
        with self.assertRaisesRegex(TypeError, "element.exp takes 1 arguments, not 2"):
            torchdyn.register_lowering(self.op)(lambda x, y: element.exp(x, y))

    def test_a_tensor_in_an_element(self):
        with self.assertRaisesRegex(TypeError, "neither an element nor a number"):
            torchdyn.register_lowering(self.op)(lambda x, y: element.maximum(x, torch.ones(1)))

    def test_other_results(self):
        with self.assertRaisesRegex(TypeError, "describes 2 results, not 1"):
            torchdyn.register_lowering(self.op)(lambda x, y: (x, y))
        with self.assertRaisesRegex(TypeError, "neither an element nor a number"):
            torchdyn.register_lowering(self.op)(lambda x, y: None)

    def test_arguments_that_are_no_elements(self):
        with self.assertRaisesRegex(ValueError, "approximate .str. is neither"):
            torchdyn.register_lowering(torch.ops.aten.gelu.default)(lambda x, approximate: x)

    def test_operators_that_are_not_recorded(self):
        with self.assertRaisesRegex(ValueError, "by other operators"):
            torchdyn.register_decomposition(torch.ops.aten.reshape.default)(lambda x, shape: x)
        with self.assertRaisesRegex(ValueError, "writes to its arguments"):
            torchdyn.register_decomposition(torch.ops.aten.relu_.default)(lambda x: x)
        with self.assertRaisesRegex(ValueError, "view of its arguments"):
            torchdyn.register_decomposition(torch.ops.aten.t.default)(lambda x: x)

    def test_an_operator_of_several_overloads(self):
        with self.assertRaisesRegex(ValueError, "overloads Tensor, Scalar.* name one"):
            torchdyn.register_decomposition(torch.ops.aten.add)

    def test_what_is_no_operator(self):
        with self.assertRaisesRegex(TypeError, "is no operator"):
            torchdyn.register_lowering(torch.add)


if __name__ == "__main__":
    unittest.main()
