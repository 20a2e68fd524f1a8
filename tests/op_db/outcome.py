"""What one run of a case leaves: results, gradients, inputs, or an exception.

    eager = Outcome(case.function, case.args)
    eager.part("gradients")[0]
"""
import torch
from torch.utils._pytree import tree_flatten, tree_map

from cases import seed

PARTS = ("results", "gradients", "inputs")
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
    """Runs a callable on copies of its arguments; random tangents, unless they are given."""

    def __init__(self, run, args, tangents=None):
        self.args = tree_map(Copies(), args)
        self.tangents = tangents
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
        if self.tangents is None:
            seed(2)
            self.tangents = [torch.randn_like(t) for t in outputs]  # strides as the results have them
        return list(torch.autograd.grad(outputs, inputs, self.tangents, allow_unused=True))

    def part(self, what):
        return tensors_of(self.args) if what == "inputs" else getattr(self, what)

    def sharing(self):
        """Which of inputs and results share memory, by numbers in order of appearance."""
        numbers = {}
        return [numbers.setdefault(t.untyped_storage()._cdata, len(numbers))
                for t in tensors_of(self.args) + self.results
                if t.layout == torch.strided and t.numel() > 0]
