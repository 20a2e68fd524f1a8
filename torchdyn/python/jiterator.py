"""torch.cuda.jiterator in a trace: its calls become an operator, torchdyn::jiterator.

    with recorded():              # around a function that is traced
        result = function(*fakes)

PyTorch gives such a call's text to its own compiler below the dispatcher, where a tensor of a trace
has no memory to run on. The operator runs there what the call would have.
"""
import json
from contextlib import contextmanager
from unittest import mock

import torch
from torch import _prims_common as prims

_LAUNCH = "_cuda_jiterator_compile_and_launch_kernel"
_launch = getattr(torch._C, _LAUNCH, None)  # none in a build without CUDA
_library = torch.library.Library("torchdyn", "FRAGMENT")
_library.define("jiterator(str code, str name, bool by_reference, int outputs, Tensor[] tensors, "
                "str arguments) -> Tensor[]")  # arguments: names to numbers, as JSON


def _run(code, name, by_reference, outputs, tensors, arguments):
    results = _launch(code, name, by_reference, outputs, tuple(tensors), json.loads(arguments))
    return list(results) if outputs > 1 else [results]


def _types(code, name, by_reference, outputs, tensors, arguments):
    """As for any pointwise operator: promoted, broadcast, in the order of the inputs' dimensions."""
    _, dtype = prims.elementwise_dtypes(
        *tensors, type_promotion_kind=prims.ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    like = torch.broadcast_tensors(*tensors)
    strides = prims.compute_elementwise_output_strides(*like)
    return [like[0].new_empty_strided(like[0].shape, strides, dtype=dtype) for _ in range(outputs)]


_library.impl("jiterator", _run, "CompositeExplicitAutograd")
torch.library.register_fake("torchdyn::jiterator", _types, lib=_library)


def _call(code, name, by_reference, outputs, tensors, arguments):
    results = torch.ops.torchdyn.jiterator(
        code, name, by_reference, outputs, [t.detach() for t in tensors], json.dumps(arguments))
    return tuple(results) if outputs > 1 else results[0]


@contextmanager
def recorded():
    """Calls of torch.cuda.jiterator's functions go through the dispatcher."""
    if _launch is None:
        yield
        return
    with mock.patch.object(torch._C, _LAUNCH, _call):
        yield
