"""An FX graph as a callable for the trace: its nodes, and the higher-order ones, by our own hand.

    traced = GraphTrace(graph_module)
    tensors, numbers, rebuild = traced(*inputs, *traced.attributes())   # as _C.Compiled asks
    result = traced.eager(*inputs, *traced.attributes())
"""
from functools import partial

import torch
from torch import fx
from torch.utils._pytree import tree_flatten, tree_unflatten

from torchdyn.higher_order import run_higher_order


_ENTER_AUTOCAST, _EXIT_AUTOCAST = torch.amp._enter_autocast, torch.amp._exit_autocast
_INFERENCE_MODE = (torch.autograd.grad_mode._enter_inference_mode,
                   torch.autograd.grad_mode._exit_inference_mode)


class GraphRun(fx.Interpreter):
    """One run of a graph. Attributes that are tensors come from `attributes`, by name.

    Autocast regions end where they do in the program, also when an operator in one raises.
    """

    def __init__(self, module, attributes=None):
        super().__init__(module)
        self.attributes = {} if attributes is None else attributes
        self.extra_traceback = False
        self.autocasts = []  # entered and not yet left

    def run(self, *args, **kwargs):
        try:
            return super().run(*args, **kwargs)
        finally:
            while self.autocasts:
                _EXIT_AUTOCAST(self.autocasts.pop())

    def get_attr(self, target, args, kwargs):
        return self.attributes[target] if target in self.attributes else self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        if target in _INFERENCE_MODE:  # of the whole graph: on already, around the call
            return None
        if isinstance(target, torch._ops.HigherOrderOperator):
            return run_higher_order(target, run_graph, args, kwargs)
        result = super().call_function(target, args, kwargs)
        if target is _ENTER_AUTOCAST:
            self.autocasts.append(result)
        elif target is _EXIT_AUTOCAST:
            self.autocasts.remove(args[0])
        return result


def run_graph(module, *args):
    """A graph's result for its inputs; what a higher-order operator was given may be any callable."""
    return GraphRun(module).run(*args) if isinstance(module, fx.GraphModule) else module(*args)


def _rebuild(leaves, tensor_places, number_places, structure, tensors, numbers=()):
    leaves = list(leaves)
    for place, tensor in zip(tensor_places, tensors):
        leaves[place] = tensor
    for place, number in zip(number_places, numbers):
        leaves[place] = number
    return tree_unflatten(leaves, structure)


def split_result(result):
    """(tensors of a pytree, its ints, None or what makes such a pytree of other ones)."""
    leaves, structure = tree_flatten(result)
    tensor_places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    number_places = [i for i, leaf in enumerate(leaves) if type(leaf) is int]
    tensors = [leaves[place] for place in tensor_places]
    if type(result) in (list, tuple) and len(result) == len(tensors) == len(leaves):
        return tensors, [], None if type(result) is list else type(result)
    # A fake must not outlive its trace.
    rest = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    numbers = [leaves[place] for place in number_places]
    return tensors, numbers, partial(_rebuild, rest, tensor_places, number_places, structure)


def _calls(module, function):
    return [n for n in module.graph.nodes if n.op == "call_function" and n.target is function]


def _inference_mode(module) -> str:
    """Where the graph is in inference mode of its own: "nowhere", "everywhere" or "partly"."""
    entered, left = (_calls(module, function) for function in _INFERENCE_MODE)
    if not entered:
        return "nowhere"
    work = [n for n in module.graph.nodes if n.op not in ("placeholder", "get_attr", "output")]
    whole = entered == work[:1] and left == work[-1:] and entered[0].args == (True,)
    return "everywhere" if whole else "partly"


def _turns_grad_on(module) -> bool:
    return any(n.args == (True,) for n in _calls(module, torch._C._set_grad_enabled))


def _parameters(module, attributes: int) -> list[int]:
    """Which arguments are parameters and buffers: placeholders that Dynamo says so of, attributes."""
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    static = [i for i, n in enumerate(placeholders)
              if "_dynamo_static_input_type" in n.meta.get("tensor_dict", {})]
    return static + list(range(len(placeholders), len(placeholders) + attributes))


class GraphTrace:
    """A graph module whose tensor attributes are further inputs, after those of the graph.

    Where the graph turns gradients on, the grad mode of the call is the last of them: it is traced
    with gradients on, so that its results can have some.
    """

    def __init__(self, module: fx.GraphModule):
        self.module = module
        targets = dict.fromkeys(n.target for n in module.graph.nodes if n.op == "get_attr")
        self._names = [t for t in targets if isinstance(self._fetch(t), torch.Tensor)]
        self.inference_mode = _inference_mode(module)
        self.turns_grad_on = _turns_grad_on(module)
        self._run_in_eager = run_graph if _calls(module, _ENTER_AUTOCAST) else fx.GraphModule.__call__
        self.parameters = _parameters(module, len(self._names))

    def _fetch(self, target):
        value = self.module
        for name in target.split("."):
            value = getattr(value, name)
        return value

    def attributes(self):
        mode = [torch.is_grad_enabled()] if self.turns_grad_on else []
        return [self._fetch(name) for name in self._names] + mode

    def __call__(self, *args):
        if self.inference_mode == "partly":
            raise RuntimeError("a part of the graph is in inference mode")
        inputs, attributes, grad_mode = self._split(args)
        run = GraphRun(self.module, dict(zip(self._names, attributes)))
        with torch.set_grad_enabled(grad_mode):
            return split_result(run.run(*inputs))

    def eager(self, *args):
        inputs, _, grad_mode = self._split(args)
        with torch.set_grad_enabled(grad_mode):
            return self._run_in_eager(self.module, *inputs)

    def _split(self, args):
        """Inputs of the graph, attributes, grad mode."""
        *args, grad_mode = args if self.turns_grad_on else (*args, torch.is_grad_enabled())
        inputs = len(args) - len(self._names)
        return args[:inputs], args[inputs:], grad_mode
