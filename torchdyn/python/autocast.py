"""What functions give under autocast, found out on tensors without data.

    results = call_like(torch.nn.functional.linear, (x, w), {}, [(x, cpu), (w, cpu)])

Meta tensors are on no device, so that autocast leaves them alone. torch's fakes are on one.
"""
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_map_only


def _as_fake(mode, stand_in, device):
    fake = FakeTensor(mode, stand_in.detach().requires_grad_(stand_in.requires_grad), device)
    return fake if stand_in.is_leaf else fake.clone()


def _as_stand_in(fake):
    like = torch.empty_strided(fake.size(), fake.stride(), dtype=fake.dtype, device="meta")
    if not fake.requires_grad:
        return like
    like.requires_grad_()
    if fake.is_leaf:
        return like
    copy = like.clone()
    return copy if copy.stride() == like.stride() else like.view_as(like)


def call_like(function, args, kwargs, places):
    """The results as meta tensors. `places` are the meta tensors among the arguments, with the devices that they
    stand for; one that is given back is itself."""
    mode = FakeTensorMode()
    fakes = {id(stand_in): _as_fake(mode, stand_in, device) for stand_in, device in places}

    def to_fake(tensor):
        return fakes[id(tensor)]

    with mode:
        results = function(*tree_map_only(torch.Tensor, to_fake, args), **tree_map_only(torch.Tensor, to_fake, kwargs))
    given = {id(fakes[id(stand_in)]): stand_in for stand_in, _ in places}
    if isinstance(results, torch.Tensor) and id(results) in given:
        return function(*args, **kwargs)  # in place: what it does to the dtype is nothing
    return tree_map_only(torch.Tensor, lambda fake: given[id(fake)] if id(fake) in given else _as_stand_in(fake), results)
