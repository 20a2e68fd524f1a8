"""Graphs within the graph of a capture: what was recorded from a mark on, as a graph of its own.

    begin = mark(graph)
    ...                                           # nodes are recorded
    results = checkpointed(graph, root, begin, results, options)

`root` is the module that holds them. Nodes of the graph outside that one of them uses are its inputs.
"""
import operator

from torch import fx
from torch._functorch.autograd_function import autograd_function_apply
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.wrap import tag_activation_checkpoint


class Context:
    """What torch.autograd.Function's methods are given, as far as capture follows them."""

    saved_tensors = ()
    _torchdyn_dirty = _torchdyn_fixed = ()
    _torchdyn_materializes = True

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        pass

    def mark_dirty(self, *tensors):
        self._torchdyn_dirty = tensors

    def mark_non_differentiable(self, *tensors):
        self._torchdyn_fixed = tensors

    def set_materialize_grads(self, value):
        self._torchdyn_materializes = value


def mark(graph):
    """The last node; None: there is none."""
    return next(iter(reversed(graph.nodes)), None)


def made_between(graph, begin, end=None):
    """The calls behind `begin`, up to and with `end`."""
    nodes = list(graph.nodes)
    first = 0 if begin is None else nodes.index(begin) + 1
    last = len(nodes) if end is None else nodes.index(end) + 1
    return [node for node in nodes[first:last] if node.op.startswith("call_")]


def outside(nodes, results):
    """What they use and is none of them, in order."""
    inside, found = set(nodes), {}
    for node in nodes:
        found |= dict.fromkeys(node.all_input_nodes)
    fx.map_arg(results, lambda node: found.setdefault(node))
    return [node for node in found if node not in inside and node.op != "get_attr"]


def operands(graph, begin):
    return tuple(outside(made_between(graph, begin), ()))


def _body(root, nodes, inputs, results):
    body = fx.Graph()
    copies = {node: body.placeholder(f"operand_{number}") for number, node in enumerate(inputs)}

    def copy_of(node):
        if node.op == "get_attr" and node not in copies:
            copies[node] = body.get_attr(node.target)
        return copies[node]

    for node in nodes:
        copies[node] = body.node_copy(node, copy_of)
    body.output(fx.map_arg(results, copy_of))
    return fx.GraphModule(root, body)


def _held(graph, root, body):
    name = f"body_{sum(1 for _ in root.children())}"
    root.add_module(name, body)
    return graph.get_attr(name)


def _erase(graph, nodes):
    for node in reversed(nodes):
        graph.erase_node(node)


def _items(graph, node, count):
    return tuple(graph.call_function(operator.getitem, (node, number)) for number in range(count))


def checkpointed(graph, root, begin, results, options):
    """The results, of what is computed once more for the backward."""
    nodes = made_between(graph, begin)
    inputs = outside(nodes, results)
    body = _body(root, nodes, inputs, results)
    _erase(graph, nodes)
    node = graph.call_function(tag_activation_checkpoint, (_held(graph, root, body), *inputs), options)
    return _items(graph, node, len(results))


def conditional(graph, root, begin, between, predicate, when_true, when_false):
    """The results of either branch, which ends or begins at `between`."""
    branches = [made_between(graph, begin, between) if between is not begin else [],
                made_between(graph, between)]
    inputs = list(dict.fromkeys(outside(branches[0], when_true) + outside(branches[1], when_false)))
    bodies = [_body(root, nodes, inputs, results)
              for nodes, results in zip(branches, (when_true, when_false))]
    _erase(graph, branches[0] + branches[1])
    held = [_held(graph, root, body) for body in bodies]
    node = graph.call_function(cond_op, (predicate, *held, tuple(inputs)))
    return _items(graph, node, len(when_true))


def differentiated(graph, root, begin, between, outputs, sources, gradients, arriving, fixed):
    """The outputs of torch.autograd.Function's forward, up to `between`, whose backward is what
    comes behind: of the gradients that arrive, those of `sources`. `fixed` outputs have none."""
    forward, backward = made_between(graph, begin, between), made_between(graph, between)
    saved = [node for node in outside(backward, gradients) if node not in arriving]
    inputs = outside(forward, (outputs, saved, sources))
    forward_body = _body(root, forward, inputs, (outputs, tuple(saved)))
    of_input = dict(zip(sources, gradients))
    backward_body = _body(root, backward, (*arriving, *saved),
                          tuple(of_input.get(node) for node in inputs))
    _erase(graph, [*forward, *arriving, *backward])
    bodies = _held(graph, root, forward_body), _held(graph, root, backward_body)
    node = graph.call_function(
        autograd_function_apply, (*bodies, *inputs),
        {"non_differentiable_idx": list(fixed), "saved_for_backward_idx": list(range(len(saved)))})
    return _items(graph, node, len(outputs))
