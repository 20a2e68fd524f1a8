#!/usr/bin/env python3
"""Writes tests/golden/aten_bridge/fake/*.txt: what eager made of sample calls.

    $TORCHDYN_VENV_PYTHON tests/aten_bridge/fake/make_samples.py      # needs expecttest; a minute

Runs PyTorch's operator database, forward and backward, and keeps a few calls of each operator that has
a shape rule or stands on the list of tested Meta kernels: each as a graph of one node whose types are
those of the real tensors. One file a family; operators that the database does not reach are called here.
"""
import itertools
import json
import pathlib
import re
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDENS = ROOT / "tests/golden/aten_bridge/fake"
CALLS = 2  # of an operator
BY_OPERANDS = ("meta_pointwise", "meta_special")  # the test makes up operands of several layouts
DTYPES = {
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.float16: "f16", torch.float32: "f32", torch.float64: "f64", torch.complex32: "c32",
    torch.complex64: "c64", torch.complex128: "c128", torch.bool: "bool", torch.bfloat16: "bf16",
    torch.uint64: "u64", torch.uint32: "u32", torch.uint16: "u16",
}
SCALAR_TYPES = {4: "i64", 6: "f32", 7: "f64", 11: "bool"}
MEMORY_FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last,
                  torch.channels_last_3d]


def families():
    """File name -> operators."""
    folder = ROOT / "aten_bridge/fake"
    text = (folder / "meta_kernel_list.cc").read_text()
    found = {}
    for name, body in re.findall(r"string_view k(\w+)\[\] = \{(.*?)\};", text, re.S):
        found[re.sub("([A-Z])", r"_\1", "meta" + name).lower()] = re.findall(r'"(aten::[^"]+)"', body)
    for path in sorted(folder.glob("*_rules.cc")):
        found[path.stem] = re.findall(r'\{"(aten::[^"]+)"', path.read_text())
    return {name: ops for name, ops in found.items() if name not in BY_OPERANDS}


def call_by_hand():
    """Calls that the database does not make: mostly what functionalization makes of in-place ones."""
    aten = torch.ops.aten
    x, z = torch.rand(4, 2, 3).permute(1, 2, 0), torch.rand(2, 3, dtype=torch.complex64).t()
    image = torch.rand(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    volume = torch.rand(2, 3, 8, 8, 8).contiguous(memory_format=torch.channels_last_3d)
    longs, square = torch.zeros(4, dtype=torch.long), torch.rand(3, 4, 4).mT
    logits, classes = torch.rand(5, 2, 3).log_softmax(-1), torch.ones(2, 2, dtype=torch.long)
    loss, alpha = aten._ctc_loss(logits, classes, [5, 4], [2, 1])
    heads = torch.rand(2, 6, 4, 8).transpose(1, 2)
    pooled, places = aten.max_pool3d_with_indices(volume, [2])
    aten.squeeze_copy.dims(torch.rand(2, 1, 3, 1).permute(2, 1, 0, 3), [1, 3])
    aten._conj_copy(z)
    aten.view_as_real_copy(z)
    aten._neg_view_copy(x)
    aten.view_as_complex_copy(torch.rand(3, 4, 2))
    aten.detach_copy(x)
    aten.unsafe_split_with_sizes(x, [3, 1], 2)
    aten.norm.Scalar(x)
    aten.select_copy.int(x, 1, 0)
    aten.slice_copy.Tensor(x, 2, 0, 4, 2)
    aten.split_copy.Tensor(x, 2, 2)
    aten.view_copy.dtype(x, torch.int32)
    aten.scatter.value_reduce(torch.rand(2, 3), 1, torch.zeros(2, 3, dtype=torch.long), 1, reduce="add")
    aten._upsample_bicubic2d_aa(image, [5, 5], False)
    aten._upsample_bicubic2d_aa_backward(torch.rand(2, 3, 5, 5), [5, 5], [2, 3, 8, 8], False)
    aten.searchsorted.Scalar(longs, 0.5)
    aten.bucketize.Scalar(0.5, longs)
    aten._ctc_loss_backward(loss, logits, classes, [5, 4], [2, 1], loss, alpha, 0)
    aten._linalg_eigvals(square)
    aten.linalg_matrix_exp(square)
    aten.rot90(x, 0)
    aten._embedding_bag_dense_backward(torch.rand(2, 5), longs, longs, longs, longs, 7, False, 0, None)
    aten.reflection_pad2d(image, [1, 1, 1, 1])
    aten.roll(image, [1], [2])
    aten.reflection_pad2d_backward(torch.rand(2, 3, 10, 10), image, [1, 1, 1, 1])
    aten.replication_pad2d_backward(torch.rand(2, 3, 10, 10), image, [1, 1, 1, 1])
    aten.replication_pad3d_backward(torch.rand(2, 3, 10, 10, 10), volume, [1] * 6)
    aten._adaptive_avg_pool3d(volume, [2, 2, 2])
    aten.max_pool3d_with_indices(volume, [2])
    aten.max_pool3d_with_indices_backward(pooled, volume, [2], [2], [0], [1], False, places)
    aten.max_unpool3d(pooled, places, [8, 8, 8], [2, 2, 2], [0, 0, 0])
    aten._adaptive_avg_pool3d_backward(pooled, volume)
    aten.roll(x, [1, 1], [0, 1])
    aten.grid_sampler_2d(image, torch.rand(2, 5, 5, 2), 0, 0, False)
    aten.channel_shuffle(torch.cat([image] * 2, 1).to(memory_format=torch.channels_last), 2)
    aten.soft_margin_loss(x, x, 0)
    aten.soft_margin_loss_backward(x, x, x.contiguous(), 0)
    aten._scaled_dot_product_flash_attention_for_cpu(heads, heads, heads)
    aten.rrelu_with_noise_functional(x, x, 0.1, 0.3, True)
    aten.normal.float_Tensor(0.0, x)
    aten._assert_async(torch.ones(()))
    aten._assert_async.msg(torch.ones(()), "fails")
    aten.bernoulli.Tensor(x, x)
    aten.exponential(x)
    aten.cauchy(x)
    aten.geometric(x, 0.5)
    aten.log_normal(x)
    aten.random(x)
    aten.random.to(x, 5)
    getattr(aten.random, "from")(x, 1, 5)


def strides(sizes):
    """Row-major; a size of 0 counts as 1."""
    products = itertools.accumulate([1] + [max(s, 1) for s in reversed(sizes[1:])], lambda a, b: a * b)
    return tuple(reversed(list(products))) if sizes else ()


def type_text(tensor):
    sizes, steps = tuple(tensor.shape), tuple(tensor.stride())
    text = f"{DTYPES[tensor.dtype]}[{', '.join(map(str, sizes))}]"
    return text if steps == strides(sizes) else text + "{" + ", ".join(map(str, steps)) + "}"


HEAD = """# What eager made of these calls. Written by tests/aten_bridge/fake/make_samples.py.
stage: fake
--- calls
"""


class Call:
    """A call as text: the inputs' types by name, and the arguments."""

    def __init__(self, func, args, kwargs):
        self.func, self.inputs, self.features = func, [], set()
        assert func.name() != "aten::repeat_interleave.Tensor" or kwargs, "its size depends on values"
        given = dict(zip((a.name for a in func._schema.arguments), args)) | kwargs
        self.args = []
        for spec in func._schema.arguments:
            value = given.get(spec.name, spec.default_value)
            text = self.argument(value, spec)
            self.args.append(text if spec.name == "self" else f"{spec.name}={text}")
            self.features.add((spec.name, str(value) if isinstance(value, (bool, str)) else value is None))

    def tensor(self, tensor):
        self.inputs.append(type_text(tensor))
        self.features.add((len(self.inputs), tensor.dim(), tensor.is_contiguous()))
        self.features.add((len(self.inputs), str(tensor.dtype)))
        return f"x{len(self.inputs) - 1}"

    def argument(self, value, spec):
        kind = str(spec.type)
        if value is None:
            return "none"
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype):
            return DTYPES[value]
        if isinstance(value, torch.device):
            return "@cpu"
        if isinstance(value, torch.layout):
            return "0"
        if isinstance(value, torch.memory_format):
            return str(MEMORY_FORMATS.index(value))
        if isinstance(value, (list, tuple)):
            if not value and "Tensor" in kind:
                return "tensor[]"
            if not value and "float" in kind:
                return "double[]"
            return "[" + ", ".join(self.argument(v, spec) for v in value) + "]"
        if isinstance(value, str):
            return json.dumps(value)
        if spec.name == "dtype" and isinstance(value, int):
            return SCALAR_TYPES[value]
        if isinstance(value, bool):
            return str(value).lower() if "int" not in kind else str(int(value))
        if isinstance(value, int) and "float" in kind:
            value = float(value)
        if isinstance(value, complex):
            return f"complex({value.real!r}, {value.imag!r})"
        if isinstance(value, (int, float)):
            return repr(value)
        raise TypeError(f"{spec.name} is a {type(value)}")

    def text(self, results):
        name = self.func.name()
        types = [type_text(r) if isinstance(r, torch.Tensor) else "none" for r in results]
        values = ", ".join(f"%{i}: {t}" for i, t in enumerate(types))
        head = ", ".join(f"x{i}: {t}" for i, t in enumerate(self.inputs))
        line = f"{values}{' = ' if values else ''}{name}({', '.join(self.args)})"
        return f"graph 1 sample({head}) {{\n  {line}\n  return\n}}\n"


def is_plain(tensor):
    return (tensor.layout == torch.strided and not tensor.is_conj() and not tensor.is_neg()
            and tensor.device.type == "cpu" and tensor.dtype in DTYPES and tensor.numel() < 5000)


class Sampler(TorchDispatchMode):
    """Keeps calls that show something new of their operator."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted = wanted
        self.kept = {op: [] for op in wanted}
        self.seen = {op: set() for op in wanted}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        op, call = func.name(), None
        leaves = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if op in self.wanted and len(self.kept[op]) < CALLS and all(map(is_plain, leaves)):
            try:
                call = Call(func, args, kwargs)
            except (TypeError, KeyError, AssertionError):
                call = None
        result = func(*args, **kwargs)
        if call and not call.features <= self.seen[op]:
            results = [] if not func._schema.returns else [r for out in (result if isinstance(result, tuple) else (result,))
                       for r in (out if isinstance(out, (list, tuple)) else (out,))]
            if all(is_plain(r) for r in results if isinstance(r, torch.Tensor)):
                self.seen[op] |= call.features
                self.kept[op].append(call.text(results))
        return result


def run(sample, op, grad):
    out = op(sample.input, *sample.args, **sample.kwargs)
    outs = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.grad_fn is not None]
    ins = [t for t in tree_leaves((sample.input, sample.args, sample.kwargs))
           if isinstance(t, torch.Tensor) and t.requires_grad]
    if grad and outs and ins:
        torch.autograd.grad(outs, ins, [torch.ones_like(t) for t in outs], allow_unused=True)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    files = families()
    sampler = Sampler({op for ops in files.values() for op in ops})
    with sampler:
        call_by_hand()
    for op in op_db:
        for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16):
            if not op.supports_dtype(dtype, "cpu"):
                continue
            grad = dtype == torch.float32 and op.supports_autograd
            samples = op.sample_inputs("cpu", dtype, requires_grad=grad)
            for sample in itertools.islice(samples, 60 if grad else 8):
                try:
                    with sampler:
                        run(sample, op, grad)
                except Exception:
                    pass  # what eager refuses is no sample
    for name, ops in files.items():
        texts = [text for op in ops for text in sampler.kept[op]]
        if texts:
            (GOLDENS / f"{name}.txt").write_text(HEAD + "\n".join(texts))
    print("without a sample:", *sorted(op for op, texts in sampler.kept.items() if not texts))


if __name__ == "__main__":
    main()
