"""Operators that the compiler does not know, or that it is to treat otherwise.

An operator of torch.library runs as it is, between our kernels, once it has a fake
(`torch.library.register_fake`): that is its shape rule, for torch.compile and for us, and no other
is needed. `register_decomposition` and `register_lowering` say what it computes, so that it fuses
with what is around it; its gradient stays the one of `torch.library.register_autograd`.
"""
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from torchdyn import _C
from torchdyn.element import describe

_Function = TypeVar("_Function", bound=Callable)


def _overload_of(op: Any) -> torch._ops.OpOverload:
    op = getattr(op, "_opoverload", op)  # of torch.library.custom_op
    if isinstance(op, torch._ops.OpOverloadPacket):
        overloads = op.overloads()
        if len(overloads) > 1:
            raise ValueError(f"{op} has the overloads {', '.join(overloads)}: name one of them")
        op = getattr(op, overloads[0])
    if not isinstance(op, torch._ops.OpOverload):
        raise TypeError(f"{op!r} is no operator, as torch.ops.aten.gelu.default is one")
    return op


def _check_arity(function, op, args, kwargs):
    try:
        inspect.signature(function).bind(*args, **dict.fromkeys(kwargs))
    except TypeError as error:
        raise TypeError(f"{function.__name__} does not take the arguments of {op._schema}: "
                        f"{error}") from None


def register_decomposition(op: Any) -> Callable[[_Function], _Function]:
    """A decorator: the function, over torch operators, replaces `op` while a graph is recorded.

    `op` is an operator of torch.ops or what torch.library.custom_op gave. The function takes its
    arguments as tensors without data, and gives its results, with the dtypes, sizes and strides
    that `op` has; it must not change its arguments. With options={"numerics": "eager"} it is not
    used, and `op` is called as it is.

    Raises TypeError where the function does not take the arguments of `op`; ValueError for an
    operator that is not recorded: one that PyTorch expresses by others, one that writes to its
    arguments or gives a view of them. What the function raises makes the call run in eager, and
    `torchdyn.explain` tells it.

        @torch.library.custom_op("mylib::scaled_sigmoid", mutates_args=())
        def scaled_sigmoid(x: torch.Tensor, scale: float) -> torch.Tensor:
            return torch.sigmoid(x * scale)

        @scaled_sigmoid.register_fake
        def _(x, scale):
            return torch.empty_like(x)

        @torchdyn.register_decomposition(scaled_sigmoid)
        def _(x, scale):
            return 1 / (1 + torch.exp(-scale * x))

        f = torch.compile(lambda x: scaled_sigmoid(x, 2.0) + 1, backend="torchdyn")
        y = f(torch.randn(4, 8))                # (4, 8), by one kernel
    """
    overload = _overload_of(op)

    def register(function: _Function) -> _Function:
        specs = overload._schema.arguments
        _check_arity(function, overload, [spec.name for spec in specs if not spec.kwarg_only],
                     [spec.name for spec in specs if spec.kwarg_only])
        _C.add_decomposition(overload.name(), function)
        return function

    return register


def register_lowering(op: Any) -> Callable[[_Function], _Function]:
    """A decorator: the function describes one element of what `op` gives, and `op` fuses like ours.

    The function runs once, now. It takes one element of each tensor argument (operands broadcast)
    and each number of `op`, in order, and gives the element of the result, or a tuple of as many
    as there are results, all of one shape. It computes in the dtype to which PyTorch promotes
    arguments and results, in float32 for float16 and bfloat16. The vocabulary is that of
    `torchdyn.element`.

    Raises TypeError where the function does not take the arguments of `op`, or branches on an
    element; AttributeError for an operation that is not in the vocabulary; ValueError for an
    operator with lists, strings or optional arguments (a decomposition can read those), or that
    is not recorded (see `register_decomposition`). `op` needs a fake, as every operator does.

        @torch.library.custom_op("mylib::soft_clip", mutates_args=())
        def soft_clip(x: torch.Tensor, bound: float) -> torch.Tensor:
            return torch.where(x.abs() > bound, bound * torch.tanh(x / bound), x)

        @soft_clip.register_fake
        def _(x, bound):
            return torch.empty_like(x)

        @torchdyn.register_lowering(soft_clip)
        def _(x, bound):
            return element.where(abs(x) > bound, bound * element.tanh(x / bound), x)

        f = torch.compile(lambda x: soft_clip(x + 1, 2.0) * 3, backend="torchdyn")
        y = f(torch.randn(4, 8))                # (4, 8), by one kernel
    """
    overload = _overload_of(op)

    def register(function: _Function) -> _Function:
        schema = overload._schema
        names = [spec.name for spec in schema.arguments]
        _check_arity(function, overload, names, [])
        _C.add_lowering(overload.name(), describe(function, names, len(schema.returns)))
        return function

    return register
