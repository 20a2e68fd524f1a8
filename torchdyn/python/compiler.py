"""torchdyn.compile: our own capture in torch.compile's place, for any of its backends.

    compiled = torchdyn.compile(model)                       # a function or a module
    compiled = torchdyn.compile(model, backend="inductor")   # another compiler for the same graphs
    @torchdyn.compile(fullgraph=True)
    def f(x): ...
"""
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from torchdyn import _C, graph_backend
from torchdyn.options import chosen_options

_backends: dict[str, Callable] = {}
_get = object.__getattribute__


def register_backend(backend: Callable | None = None, name: str | None = None) -> Callable:
    """A backend by name: backend(graph_module, example_inputs) gives a callable. Also a decorator.

        @torchdyn.register_backend
        def prints(graph_module, example_inputs):
            print(graph_module.code)
            return graph_module.forward
    """
    if backend is None:
        return functools.partial(register_backend, name=name)
    _backends[name or backend.__name__] = backend
    return backend


register_backend(graph_backend.backend, "torchdyn")


def list_backends() -> list[str]:
    """Names that `compile` takes: ours, those that were registered, and torch.compile's."""
    from torch._dynamo import list_backends as dynamo_backends
    return sorted({*_backends, *dynamo_backends()})


def _chosen_backend(backend: str | Callable, mode: str | None, options: Mapping[str, Any] | None,
                    dynamic: bool | None) -> Callable:
    if backend == "torchdyn":
        chosen_options(mode, options)  # raises here, not at the first call
    if backend == "inductor":
        return torch._TorchCompileInductorWrapper(mode, options, dynamic)
    if isinstance(backend, str) and backend not in _backends:
        from torch._dynamo.backends.registry import lookup_backend
        backend = lookup_backend(backend)
    function = _backends[backend] if isinstance(backend, str) else backend
    given = {key: value for key, value in (("mode", mode), ("options", options)) if value is not None}
    return functools.partial(function, **given) if given else function


def _open_sizes(backend: str | Callable, dynamic: bool | None) -> str:
    """Which sizes are left open, for a backend that may know of no open ones."""
    if backend in ("torchdyn", "eager", graph_backend.backend):
        return {None: "automatic", True: "all", False: "marked"}[dynamic]
    return "all" if dynamic and not isinstance(backend, str) else "none"


class CompiledModule(torch.nn.Module):
    """A module whose calls are captured. Whatever else it is asked for is the module's own."""

    def __init__(self, module: torch.nn.Module, capture: Any):
        super().__init__()
        self.__dict__.update(_orig_mod=module, capture=capture, _call=capture.caller(module))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _get(self, "__dict__")["_call"](*args, **kwargs)

    def __getattribute__(self, name: str) -> Any:
        own = name in ("_orig_mod", "capture", "__class__", "__dict__", "__call__")
        target = self if own else object.__getattribute__(self, "__dict__").get("_orig_mod", self)
        return object.__getattribute__(self, name) if target is self else getattr(target, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __reduce_ex__(self, protocol: int) -> Any:
        return self._orig_mod.__reduce_ex__(protocol)


def compile(model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable = "torchdyn", mode: str | None = None,
            options: Mapping[str, Any] | None = None, disable: bool = False) -> Callable:
    """`model`, a function or module, whose frames run as compiled graphs; torch.compile's arguments.

    What capture does not take is run by CPython between graphs; with `fullgraph` it is an error that
    names the line, the reason and what to do. A function is captured up to eight times, for other
    values; after that its frames run in eager.

    A size of a tensor, or an int, that is another one in the second capture is left open from then on, as
    are sizes that `mark_dynamic` names; `dynamic=True` leaves all of them open, `dynamic=False` those alone
    that are marked. Sizes of parameters are never open, nor are 0 and 1, nor what decides a branch for each value.
    For backends other than "torchdyn" and "eager" each size is another capture; with `dynamic=True`, a
    callable is given graphs with open sizes.

    Raises ValueError for an unknown mode or option, and what torch.compile raises for an unknown
    backend. `compiled.capture.events` tells what became of each frame.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                 options=options, disable=disable)
    if disable:
        return model
    capture = _C.FrameCapture(_chosen_backend(backend, mode, options, dynamic), fullgraph,
                              _open_sizes(backend, dynamic))
    if isinstance(model, torch.nn.Module):
        return CompiledModule(model, capture)

    call = capture.caller(model)

    @functools.wraps(model)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    compiled.capture = capture
    compiled._torchdyn_function = model
    return compiled


def disable(function: Callable) -> Callable:
    """`function`, whose frames and whose callees' frames run as they are. Also a decorator."""
    return functools.wraps(function)(functools.partial(_C.call_unseen, function))


def allow_in_graph(function: Callable | Sequence[Callable]) -> Callable | Sequence[Callable]:
    """Takes calls of `function` with tensors into graphs, unseen. Also a decorator.

    It is called during capture with tensors without data, and must do nothing but compute.
    """
    for each in function if isinstance(function, (list, tuple)) else (function,):
        _C.allow_in_graph(each)
    return function


def mark_dynamic(tensor: torch.Tensor, index: int | Sequence[int], **range: Any) -> None:
    """Leaves a size of `tensor` open when a function that gets it is captured; torch.compile sees it, too."""
    from torch._dynamo import mark_dynamic as mark
    mark(tensor, index, **range)


def mark_static(tensor: torch.Tensor, index: int | Sequence[int] | None = None) -> None:
    """Leaves a size of `tensor`, or all of them, as they are; torch.compile sees it, too."""
    from torch._dynamo import mark_static as mark
    mark(tensor, index)


def compile_count() -> int:
    """How many graphs of our own capture backends were given in this process."""
    return _C.compile_count()
