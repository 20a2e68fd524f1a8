"""Runs a case in eager and compiled and says how they differ.

    comparison = Comparison(case, compiled)
    comparison.problem      # "" where eager and compiled agree
    comparison.ratio()      # compiled's distance from float64 over eager's
"""
import torch

from accuracy import Reference
from outcome import PARTS, Outcome

# Memory that nobody wrote: only geometry is compared.
UNINITIALISED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
                 "new_empty_strided", "resize_", "resize_as_")


class Comparison:
    """`bits`: rounded values must be the same."""

    def __init__(self, case, compiled, bits=False):
        self.bits = bits
        self.has_values = case.row.op not in UNINITIALISED
        self.eager, self.ours = Outcome(case.function, case.args), Outcome(compiled, case.args)
        self.reference = Reference(case, self.eager)
        self.problem = self._difference()

    def ratio(self):
        if not self.has_values or self.eager.error is not None or self.ours.error is not None:
            return None
        return self.reference.ratio(self.ours)

    def _difference(self):
        eager, ours = self.eager, self.ours
        if eager.error is not None or ours.error is not None:
            if type(eager.error) is type(ours.error):
                return ""
            return f"eager raised {_brief(eager.error)}, compiled {_brief(ours.error)}"
        if len(eager.results) != len(ours.results):
            return f"{len(ours.results)} results, eager has {len(eager.results)}"
        for what in PARTS:
            for i, (e, c) in enumerate(zip(eager.part(what), ours.part(what))):
                problem = self._compare(what, i, e, c)
                if problem:
                    return f"{what}[{i}]: {problem}"
        if eager.sharing() != ours.sharing():
            return f"memory shared {ours.sharing()}, eager {eager.sharing()}"
        return ""

    def _compare(self, what, i, eager, compiled):
        if eager is None or compiled is None:
            return "" if eager is compiled else f"is {_type(compiled)}, eager {_type(eager)}"
        if what == "gradients":
            eager = _dense(eager)
        if _type(eager) != _type(compiled):
            return f"is {_type(compiled)}, eager {_type(eager)}"
        # Values first: other strides must not hide a wrong one.
        problem = ""
        if self.has_values:
            problem = self._compare_values(what, i, eager.detach(), compiled.detach())
        return problem or _compare_strides(eager, compiled)

    def _compare_values(self, what, i, eager, compiled):
        if eager.layout != torch.strided or torch.equal(_bits(eager), _bits(compiled)):
            return ""
        if self.bits:
            other = int((~_same_bits(_bits(eager), _bits(compiled))).sum())
            return f"{other} of {eager.numel()} have other bits" if other else ""
        if not (eager.is_floating_point() or eager.is_complex()):
            return f"{int((eager != compiled).sum())} of {eager.numel()} differ"
        try:
            torch.testing.assert_close(compiled, eager, equal_nan=True)
            return ""
        except AssertionError:
            pass
        # Eager may overflow on its way to a number; compiled must not.
        odd = eager.isfinite() != compiled.isfinite()
        finite = self.reference.finite(what, i)
        if odd.any() and (finite is None or not (compiled.isfinite() & finite)[odd].all()):
            return "infinite or NaN elsewhere"
        theirs, mine = (self.reference.distance(o, what, i) for o in (self.eager, self.ours))
        if theirs is None:
            return f"differs by {float((eager - compiled).abs().nan_to_num(nan=0).max()):.2g}"
        if mine <= 2 * theirs or mine <= 2 * self.reference.distance_of_eager_nearby(what, i):
            return ""
        return f"{mine:.2g} from float64, eager {theirs:.2g}"


def _dense(gradient):
    """Eager gives some gradients as expanded views; ours are dense, as parameters take them."""
    if gradient is None or gradient.layout != torch.strided:
        return gradient
    overlaps = any(s == 0 and n > 1 for s, n in zip(gradient.stride(), gradient.shape))
    return gradient.clone() if overlaps else gradient


def _brief(error):
    return "nothing" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


def _compare_strides(eager, compiled):
    ours, theirs = _strides(compiled), _strides(eager)
    return "" if ours == theirs else f"strides {ours}, eager {theirs}"


def _type(tensor):
    if tensor is None:
        return None
    return tuple(tensor.shape), str(tensor.dtype)[6:], tensor.layout, tensor.requires_grad


def _strides(tensor):
    """Those that mean something: not of dimensions that hold one element, or of nothing."""
    if tensor.layout != torch.strided or tensor.numel() == 0:
        return ()
    return tuple(s for s, n in zip(tensor.stride(), tensor.shape) if n > 1)


def _same_bits(a, b):
    if not a.is_floating_point():
        return a == b
    return ((a == b) & (a.signbit() == b.signbit())) | (a.isnan() & b.isnan())


def _bits(tensor):
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
