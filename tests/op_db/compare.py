"""Runs a case in eager and compiled and says how they differ.

    problem = difference(case, compiled)      # "" where eager and compiled agree
"""
import torch
from torch.utils._pytree import tree_flatten, tree_map

from cases import seed

# Memory that nobody wrote: only geometry is compared.
UNINITIALISED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
                 "new_empty_strided", "resize_", "resize_as_")
# The database's random operators seed the generator themselves, with this, when they are traced.
OPERATORS_SEED = 42


def tensors_of(tree):
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


class Copies:
    """Copies of tensors that keep their strides, offsets and shared storages."""

    def __init__(self):
        self.storages, self.known = {}, {}

    def __call__(self, leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if id(leaf) not in self.known:
            self.known[id(leaf)] = (leaf, self.copy(leaf))
        return self.known[id(leaf)][1]

    def copy(self, tensor):
        if tensor.layout != torch.strided:
            return tensor.detach().clone().requires_grad_(tensor.requires_grad)
        storage = tensor.untyped_storage()
        if storage._cdata not in self.storages:
            self.storages[storage._cdata] = storage.clone()
        new = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        new.set_(self.storages[storage._cdata], tensor.storage_offset(), tensor.size(),
                 tensor.stride())
        if tensor.is_conj():
            new = new.conj()
        if tensor.is_neg():
            new = new._neg_view()
        return new.detach().requires_grad_(tensor.requires_grad)


class Outcome:
    """What one run of a case left: results, gradients, inputs, or an exception."""

    def __init__(self, run, args):
        self.args = tree_map(Copies(), args)
        self.error, self.results, self.gradients = None, [], []
        seed(OPERATORS_SEED)
        try:
            self.result = run(*self.args)
            self.results = tensors_of(self.result)
            self.gradients = self.backward()
        except Exception as error:  # noqa: BLE001  whatever eager raises is the right answer
            self.error = error

    def backward(self):
        inputs = [t for t in tensors_of(self.args) if t.requires_grad]
        outputs = [t for t in self.results if t.requires_grad and t.grad_fn is not None]
        if not inputs or not outputs:
            return []
        seed(2)
        tangents = [torch.randn_like(t) for t in outputs]  # strides as the results have them
        return list(torch.autograd.grad(outputs, inputs, tangents, allow_unused=True))

    def sharing(self):
        """Which of inputs and results share memory, by numbers in order of appearance."""
        numbers = {}
        return [numbers.setdefault(t.untyped_storage()._cdata, len(numbers))
                for t in tensors_of(self.args) + self.results
                if t.layout == torch.strided and t.numel() > 0]


def eager_raises(case):
    return Outcome(case.function, case.args).error is not None


def difference(case, compiled):
    eager = Outcome(case.function, case.args)
    ours = Outcome(compiled, case.args)
    if eager.error is not None or ours.error is not None:
        if type(eager.error) is type(ours.error):
            return ""
        return f"eager raised {_brief(eager.error)}, compiled {_brief(ours.error)}"
    if len(eager.results) != len(ours.results):
        return f"{len(ours.results)} results, eager has {len(eager.results)}"
    exact = _Exact(case)
    values = case.row.op not in UNINITIALISED
    for what in ("results", "gradients", "inputs"):
        theirs, mine = _part(eager, what), _part(ours, what)
        for i, (e, c) in enumerate(zip(theirs, mine)):
            if what == "gradients":
                e = _dense(e)
            problem = _compare(e, c, values, lambda: _part(exact.outcome(), what)[i])
            if problem:
                return f"{what}[{i}]: {problem}"
    if eager.sharing() != ours.sharing():
        return f"memory shared {ours.sharing()}, eager {eager.sharing()}"
    return ""


def _dense(gradient):
    """Eager gives some gradients as expanded views; ours are dense, as parameters take them."""
    if gradient is None or gradient.layout != torch.strided:
        return gradient
    overlaps = any(s == 0 and n > 1 for s, n in zip(gradient.stride(), gradient.shape))
    return gradient.clone() if overlaps else gradient


def _part(outcome, what):
    return tensors_of(outcome.args) if what == "inputs" else getattr(outcome, what)


def _brief(error):
    return "nothing" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


class _Exact:
    """The same case in float64 or complex128, computed when it is asked for."""

    def __init__(self, case):
        self.case, self.known = case, None

    def outcome(self):
        if self.known is None:
            self.known = Outcome(self.case.function, tree_map(_wider, self.case.args))
        return self.known


def _wider(leaf):
    if isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex()):
        wide = torch.complex128 if leaf.is_complex() else torch.float64
        return leaf.detach().to(wide).requires_grad_(leaf.requires_grad)
    if leaf in (torch.float16, torch.bfloat16, torch.float32):
        return torch.float64
    return leaf


def _compare(eager, compiled, values, exact):
    if eager is None or compiled is None:
        return "" if eager is compiled else f"is {_type(compiled)}, eager {_type(eager)}"
    if _type(eager) != _type(compiled):
        return f"is {_type(compiled)}, eager {_type(eager)}"
    # Values first: other strides must not hide a wrong one.
    return _compare_values(eager, compiled, values, exact) or _compare_strides(eager, compiled)


def _compare_strides(eager, compiled):
    ours, theirs = _strides(compiled), _strides(eager)
    return "" if ours == theirs else f"strides {ours}, eager {theirs}"


def _compare_values(eager, compiled, values, exact):
    if eager.layout != torch.strided or not values:
        return ""
    eager, compiled = eager.detach(), compiled.detach()
    if torch.equal(_bits(eager), _bits(compiled)):
        return ""
    if not (eager.is_floating_point() or eager.is_complex()):
        return f"{int((eager != compiled).sum())} of {eager.numel()} differ"
    try:
        torch.testing.assert_close(compiled, eager, equal_nan=True)
        return ""
    except AssertionError:
        pass
    return _worse_than_eager(eager, compiled, exact)


def _worse_than_eager(eager, compiled, exact):
    """Where both are rounded: compiled may be as far from the exact result as eager, or nearer."""
    largest = lambda a, b: float((a - b).abs().nan_to_num(nan=0).max())  # noqa: E731
    wide = torch.complex128 if eager.is_complex() else torch.float64
    eager, compiled = eager.to(wide), compiled.to(wide)
    distance = largest(eager, compiled)
    try:
        true = exact().detach().to(wide)
    except Exception:  # noqa: BLE001  no exact form
        return f"differs by {distance:.2g}"
    if not torch.equal(eager.isfinite(), compiled.isfinite()):
        return "infinite or NaN elsewhere"
    finite = eager.isfinite() & true.isfinite()
    eager, compiled, true = eager[finite], compiled[finite], true[finite]
    if eager.numel() == 0:
        return ""
    allowed = 2 * largest(eager, true)
    mine = largest(compiled, true)
    return "" if mine <= allowed else f"{mine:.2g} from float64, eager {allowed / 2:.2g}"


def _type(tensor):
    if tensor is None:
        return None
    return tuple(tensor.shape), str(tensor.dtype)[6:], tensor.layout, tensor.requires_grad


def _strides(tensor):
    """Those that mean something: not of dimensions that hold one element, or of nothing."""
    if tensor.layout != torch.strided or tensor.numel() == 0:
        return ()
    return tuple(s for s, n in zip(tensor.stride(), tensor.shape) if n > 1)


def _bits(tensor):
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
