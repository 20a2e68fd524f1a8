"""How far rounded results are from the same computed in float64 or complex128.

    reference = Reference(case, eager)
    reference.distance(compiled, "gradients", 0)   # of the furthest element; None: no such form
"""
import contextlib
import functools

import torch
from torch.utils._pytree import tree_map

from outcome import Outcome

NEARBY = 8  # inputs that eager is judged on where one input says little
# So many roundings off, a value has cancelled to what float64 itself rounds: it is not known.
UNKNOWN = 1e-3 / torch.finfo(torch.float64).eps
ROUNDED = (torch.float32, torch.bfloat16, torch.float16)


class Reference:
    def __init__(self, case, eager):
        self.case, self.eager = case, eager

    @functools.cached_property
    def exact(self):
        return self._exact(self.case.args)

    def _exact(self, args):
        with _wide_default():
            return Outcome(self.case.function, tree_map(_wider, args),
                           tree_map(_wider, self.eager.tangents))

    def finite(self, what, i):
        """Where exact values are; None where there is no such form."""
        known = self.exact.error is None and len(self.exact.part(what)) > i
        exact = self.exact.part(what)[i] if known else None
        return None if exact is None else exact.isfinite()

    def distance(self, outcome, what, i):
        """The largest distance of an element from its exact value, where eager's is finite."""
        return _distance(self.exact, outcome, what, i, self.eager.part(what)[i].isfinite())

    def distance_of_eager_nearby(self, what, i):
        """The largest that eager has on inputs that differ in their last bits: where a result depends
        on how single values happen to be rounded, eager's distance on one input says little."""
        distances = [0.0]
        for number in range(NEARBY):
            generator = torch.Generator(self.case.row.device).manual_seed(number)
            args = tree_map(functools.partial(_nudged, generator), self.case.args)
            eager = Outcome(self.case.function, args, self.eager.tangents)
            distances.append(_distance(self._exact(args), eager, what, i) or 0.0)
        return max(distances)

    def ratio(self, compiled):
        """Compiled's distance over eager's, each of whole tensors, in roundings of their dtype and with
        one added; None where there is nothing to compare."""
        pairs = []
        for what in ("results", "gradients"):
            for i in range(len(self.eager.part(what))):
                theirs, mine = (self._roundings(o, what, i) for o in (self.eager, compiled))
                if theirs is not None and mine is not None and max(theirs, mine) < UNKNOWN:
                    pairs.append((theirs, mine))
        if not pairs:
            return None
        theirs, mine = (max(column) for column in zip(*pairs))
        return (mine + 1) / (theirs + 1)

    def _roundings(self, outcome, what, i):
        tensor = outcome.part(what)[i] if i < len(outcome.part(what)) else None
        if tensor is None or tensor.dtype not in ROUNDED:
            return None
        values = _finite_values(self.exact, outcome, what, i)
        norm = 0.0 if values is None else float(values[0].norm())
        if not 0 < norm < float("inf"):
            return None
        return float((values[0] - values[1]).norm()) / norm / torch.finfo(tensor.dtype).eps


def _distance(exact, outcome, what, i, where=True):
    values = _finite_values(exact, outcome, what, i, where)
    if values is None:
        return None
    return float((values[0] - values[1]).abs().max()) if values[0].numel() else 0.0


def _finite_values(exact, outcome, what, i, where=True):
    """The exact values and the rounded ones, both wide, there where both are finite; None where there
    is no exact form."""
    if exact.error is not None or outcome.error is not None or len(exact.part(what)) <= i:
        return None
    true, rounded = exact.part(what)[i], outcome.part(what)[i]
    if true is None or rounded is None or true.shape != rounded.shape:
        return None
    if true.layout != torch.strided:
        return None
    wide = torch.complex128 if true.is_complex() else torch.float64
    true, rounded = true.detach().to(wide), rounded.detach().to(wide)
    finite = true.isfinite() & rounded.isfinite() & where
    return true[finite], rounded[finite]


@contextlib.contextmanager
def _wide_default():
    """What an operator makes of integers is float64 too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _wider(leaf):
    if isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex()):
        wide = torch.complex128 if leaf.is_complex() else torch.float64
        return leaf.detach().to(wide).requires_grad_(leaf.requires_grad)
    return torch.float64 if leaf in ROUNDED else leaf


def _nudged(generator, leaf):
    """Each element as it is or beside it in its dtype."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
        return leaf
    way = torch.randint(-1, 2, leaf.shape, generator=generator, device=leaf.device)
    nudged = leaf.detach() + leaf.detach() * way * torch.finfo(leaf.dtype).eps
    return nudged.to(leaf.dtype).requires_grad_(leaf.requires_grad)
