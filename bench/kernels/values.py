"""Whether a compiled call's tensors are eager's.

    says = difference(got, expected, lambda: reference)     # "" or what is wrong
"""
import torch

# Of an element and its tensor's root mean square.
TOLERANCES = {torch.bfloat16: 2e-2, torch.float32: 1e-4}


def distance(got, expected):
    """The greatest of an element, relative; of integers the share that differs. May be NaN."""
    if not expected.dtype.is_floating_point:
        return (got != expected).double().mean().item()
    wide = torch.promote_types(expected.dtype, torch.float32)
    a, b = got.to(wide), expected.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())  # infinities, and NaN where eager has it
    apart = (a - b).abs_().masked_fill_(same, 0)
    scale = torch.where(b.isfinite(), b, 0).abs_()
    scale += scale.square().mean().sqrt()
    return apart.div_(scale.clamp_(min=1e-30)).max().item()


def difference(got, expected, reference):
    """`reference` makes the tensors in float64, or is None: where sums round coarsely in eager too,
    ours may be as far from those as twice eager's."""
    exact = None
    for place, (a, b) in enumerate(zip(got, expected, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"tensor {place} is {a.dtype}{list(a.shape)}, eager's {b.dtype}{list(b.shape)}"
        apart, allowed = distance(a, b), TOLERANCES.get(b.dtype, 0)
        if apart <= allowed:
            continue
        if b.dtype.is_floating_point and reference:
            exact = exact or reference()
            apart = distance(a.double(), exact[place])
            allowed = max(allowed, 2 * distance(b.double(), exact[place]))
        if not apart <= allowed:
            return f"tensor {place} is {apart:.1e} from eager's, {allowed:.1e} allowed"
    return ""
