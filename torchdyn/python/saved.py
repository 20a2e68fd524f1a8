"""A model as one file that runs where there is no compiler and, from C++ and C, no Python.

    torchdyn.package(model, (x,), "model.td")            # for tensors like these
    model = torchdyn.load("model.td")
    y = model(x)
"""
import json
import os
import pathlib
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils._pytree import tree_flatten, tree_unflatten, treespec_dumps, treespec_loads

from torchdyn import _C

PackageError = _C.PackageError
_SAMPLES = 20


def _weights_of(function: Callable) -> dict[str, torch.Tensor]:
    if not isinstance(function, torch.nn.Module):
        return {}
    return {**dict(function.named_parameters()), **dict(function.named_buffers())}


def _structure(leaves: list, spec) -> dict[str, Any]:
    """Of a pytree: a leaf that is no tensor is kept as it is."""
    kept = [None if isinstance(leaf, torch.Tensor) else {"constant": leaf} for leaf in leaves]
    try:
        json.dumps(kept)
        return {"leaves": kept, "spec": treespec_dumps(spec)}
    except (TypeError, NotImplementedError) as error:
        raise PackageError(f"a package does not keep this argument or result: {error}") from None


class _Method(torch.nn.Module):
    """A method of a module as a module, so that its weights are the module's."""

    PREFIX = "owner."

    def __init__(self, method: Callable):
        super().__init__()
        self.owner = method.__self__
        self.method = method

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.method(*args, **kwargs)


def _is_method(function: Callable) -> bool:
    return (not isinstance(function, torch.nn.Module)
            and isinstance(getattr(function, "__self__", None), torch.nn.Module))


class _Flat:
    """A callable over its arguments' tensors and then its weights; remembers its result's structure."""

    def __init__(self, function: Callable, args: Sequence[Any], kwargs: Mapping[str, Any]):
        self.function = _Method(function) if _is_method(function) else function
        self.prefix = _Method.PREFIX if _is_method(function) else ""
        self.weights = {name.removeprefix(self.prefix): tensor
                        for name, tensor in _weights_of(self.function).items()}
        self.leaves, self.spec = tree_flatten((tuple(args), dict(kwargs)))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.arguments = _structure(self.leaves, self.spec)
        self.results = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [self.leaves[place] for place in self.places] + list(self.weights.values())

    def __call__(self, *fakes: torch.Tensor) -> list[torch.Tensor]:
        leaves = list(self.leaves)
        for place, fake in zip(self.places, fakes):
            leaves[place] = fake
        args, kwargs = tree_unflatten(leaves, self.spec)
        names = (self.prefix + name for name in self.weights)
        weights = dict(zip(names, fakes[len(self.places):]))
        if weights:
            result = torch.func.functional_call(self.function, weights, args, kwargs)
        else:
            result = self.function(*args, **kwargs)
        flat, spec = tree_flatten(result)
        self.results = _structure(flat, spec)
        return [leaf for leaf in flat if isinstance(leaf, torch.Tensor)]


def _dynamic_sizes(tensors: list[torch.Tensor], arguments: int,
                   dynamic: Sequence[Mapping[int, str] | None] | None) -> _C.DynamicSizes | None:
    """Sizes by name as the engine's symbols, with rows of values to trace at."""
    if not dynamic or not any(dynamic):
        return None
    if len(dynamic) != arguments:
        raise ValueError(f"dynamic_sizes: {len(dynamic)} entries for {arguments} tensors")
    names = list(dict.fromkeys(name for dims in dynamic for name in (dims or {}).values()))
    geometries = [None] * len(tensors)
    for place, dims in enumerate(dynamic):
        if not dims:
            continue
        if not tensors[place].is_contiguous():
            raise PackageError(f"tensor {place} has sizes that vary, and is not contiguous")
        sizes = [f"s{names.index(dims[d])}" if d in dims else str(size)
                 for d, size in enumerate(tensors[place].size())]
        strides = ["*".join(["1", *sizes[d + 1:]]) for d in range(len(sizes))]
        geometries[place] = (sizes, strides)
    taken = {size for tensor in tensors for size in tensor.size()}
    free = [size for size in range(5, 5 + len(taken) + _SAMPLES * len(names)) if size not in taken]
    random.Random(0).shuffle(free)
    samples = [free[row * len(names):(row + 1) * len(names)] for row in range(_SAMPLES)]
    return _C.DynamicSizes(geometries, {}, samples)


_PARTS = [{"forward"}, {"forward", "backward"}, {"forward", "backward", "step"}]


def _compiled(function: Callable, args: Sequence[Any], kwargs: Mapping[str, Any], training: bool,
              dynamic_sizes: Sequence[Mapping[int, str] | None] | None, numerics: str):
    """Of one function its structure, calls and weights."""
    calls, trace = [], _Flat(function, args, kwargs)
    sizes = _dynamic_sizes(trace.tensors, len(trace.places), dynamic_sizes)
    for gradients in [False, True] if training else [False]:
        with torch.set_grad_enabled(gradients):
            call, = _C.compile_calls([(trace, trace.tensors)], {"numerics": numerics}, [sizes])
        if call.eager_reason:
            raise PackageError(call.eager_reason)
        calls.append(call)
    structure = json.dumps({"arguments": trace.arguments, "results": trace.results})
    return structure, calls, list(trace.weights.items())


def _callable(function: Callable | ExportedProgram | str | os.PathLike) -> Callable:
    if isinstance(function, (str, os.PathLike)):
        function = torch.export.load(function)
    return function.module() if isinstance(function, ExportedProgram) else function


def package(function: Callable | ExportedProgram | str | os.PathLike, args: Sequence[Any],
            path: str | os.PathLike, *,
            kwargs: Mapping[str, Any] | None = None, training: bool = False,
            include: Collection[str] | None = None, optimizer: str = "",
            methods: Mapping[str, tuple[Callable, Sequence[Any]]] | None = None,
            targets: Sequence[str] = (),
            dynamic_sizes: Sequence[Mapping[int, str] | None] | None = None,
            numerics: str = "default") -> None:
    """Writes `function`, a module or a function of tensors, as a package for tensors like `args`.

    It may be what `torch.export` made, too: an ExportedProgram, or the path of a .pt2.

    Dtypes, sizes and strides are those of the arguments, but for `dynamic_sizes`: one entry a tensor
    among the arguments, `{dimension: name}` or None, as in `dynamic_sizes=[{0: "batch"}, None]`; sizes of
    one name are equal, and 2 or more. What arguments hold besides tensors is baked in, as
    is a module's mode: `eval()` it first. Parameters and buffers go in with their values. Gradients are
    off, unless `training` or `include={"forward", "backward"}`: then the package has the backward as
    well, for `loss.backward()` and any optimizer; and with `"step"` the step of `optimizer`
    ("adamw lr=0.001 weight_decay=0.1", "sgd lr=0.1 momentum=0.9") and its state, for `torchdyn.Trainer`.
    `methods`: further functions, of this model or others, by name, each with its arguments.
    `targets`: what kernels are built for, the best first ("x86-64-v4", "x86-64-v3", "x86-64"; "sm_90",
    "compute_80" on a GPU); machines like this one where it is empty.
    `numerics` as in `torchdyn.compile_calls`.

    Raises PackageError (a RuntimeError) with the reason where it cannot be captured whole or kept.
    """
    parts = set(include) if include is not None else _PARTS[1 if training else 0]
    if parts not in _PARTS:
        raise ValueError(f"include: {sorted(parts)}; it is forward, backward with it, step with both")
    if ("step" in parts) != bool(optimizer):
        raise ValueError("include has 'step' where `optimizer` names one, and only there")
    functions = {"forward": (_callable(function), args, kwargs or {}, "backward" in parts, dynamic_sizes)}
    for name, (method, its_args) in (methods or {}).items():
        functions[name] = (_callable(method), its_args, {}, False, None)
    saved = [(name, *_compiled(*what, numerics)) for name, what in functions.items()]
    _C.save_calls(saved, {"numerics": numerics}, optimizer, list(targets), os.fspath(path))


class Package:
    """A loaded package: callable as what was packaged, or, where C++ saved it, with its tensors.

    Weights are mapped from the file and shared by all processes that load it; an optimizer's step on
    `parameters()` stays in this process. Where gradients are on and the package was made with
    `training=True`, results carry gradients.
    """

    def __init__(self, path: str | os.PathLike, public_key: str | os.PathLike | None = None):
        key = pathlib.Path(public_key).read_text() if public_key is not None else ""
        if public_key is not None and not key:
            raise PackageError(f"{public_key} is empty")
        self._package = _C.Package(os.fspath(path), key)
        manifest = self.manifest
        structures = {name: method["structure"] for name, method in manifest.get("methods", {}).items()}
        structures["forward"] = manifest["structure"]
        self._structures = {
            name: [(part["leaves"], treespec_loads(part["spec"]))
                   for part in map(json.loads(text).get, ("arguments", "results"))]
            for name, text in structures.items() if text}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """PackageError, naming the input, for tensors of another dtype, size or stride."""
        return self.call("forward", *args, **kwargs)

    def call(self, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """The same of one of several functions."""
        leaves, spec = tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if method not in self._structures:
            return self._package.call(method, tensors)
        arguments, (kept, result_spec) = self._structures[method]
        self._check(leaves, spec, *arguments)
        results = iter(self._package.call(method, tensors))
        return tree_unflatten([leaf["constant"] if leaf else next(results) for leaf in kept],
                              result_spec)

    @staticmethod
    def _check(leaves: list, spec, kept: list, expected) -> None:
        if spec != expected:
            raise PackageError(f"arguments: expected {expected}, given {spec}")
        for place, (leaf, keep) in enumerate(zip(leaves, kept)):
            if isinstance(leaf, torch.Tensor) and keep is None:
                continue
            if keep is None or type(leaf) is not type(keep["constant"]) or leaf != keep["constant"]:
                expected = "a tensor" if keep is None else repr(keep["constant"])
                raise PackageError(f"argument {place}: expected {expected}, given {leaf!r}")

    def save(self, path: str | os.PathLike) -> None:
        """The same package with its weights, and what its optimizer keeps, as they are now."""
        self._package.save(os.fspath(path))

    @property
    def methods(self) -> list[str]:
        return self._package.methods

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """Parameters, buffers and constants by name."""
        return dict(self._package.weights)

    def parameters(self) -> list[torch.Tensor]:
        """Those that require a gradient, for an optimizer."""
        return [tensor for tensor in self.weights.values() if tensor.requires_grad]

    @property
    def manifest(self) -> dict[str, Any]:
        """What the file says of itself: inputs, results, guards, producer."""
        return json.loads(self._package.manifest)


class Trainer:
    """Training steps of a package whose first result is the loss: forward, backward, optimizer.

        trainer = torchdyn.Trainer(torchdyn.load("loss.td"))     # the package's own optimizer
        loss = trainer.step(x, y)
    """

    def __init__(self, package: Package, optimizer: str = ""):
        self.package = package
        self._trainer = _C.Trainer(package._package, optimizer)

    def step(self, *tensors: torch.Tensor) -> float:
        return self._trainer.step(list(tensors))

    def set_learning_rate(self, rate: float) -> None:
        self._trainer.set_learning_rate(rate)


def load(path: str | os.PathLike, public_key: str | os.PathLike | None = None) -> Package:
    """A package to call; with a file of an Ed25519 key in PEM, one that its owner has signed.

    PackageError where it is damaged, for other processors, or not signed so.
    """
    return Package(path, public_key)
