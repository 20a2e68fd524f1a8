"""What higher-order operators compute, by operators that have no callables among their arguments.

    result = run_higher_order(torch.ops.higher_order.cond, run_graph, args, kwargs)

A row an operator: a function of run(graph, *args), which interprets a graph, and the operator's
arguments. An operator without a row cannot be captured: the call runs in eager.
"""
import math

import torch

# Loops are unrolled, each number of iterations a variant of its own.
_MOST_ITERATIONS = 256


class _Apply(torch.autograd.Function):
    """torch.autograd.Function as Dynamo gives it: two graphs."""

    @staticmethod
    def forward(ctx, run, bwd, non_differentiable, fwd, *args):
        output, saved = run(fwd, *args)
        ctx.run, ctx.bwd = run, bwd
        tensors = [value for value in saved if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*tensors)
        ctx.saved = [None if isinstance(value, torch.Tensor) else value for value in saved]
        ctx.places = [i for i, v in enumerate(saved) if isinstance(v, torch.Tensor)]
        if non_differentiable:
            outputs = output if isinstance(output, (tuple, list)) else (output,)
            ctx.mark_non_differentiable(*(outputs[i] for i in non_differentiable))
        return output

    @staticmethod
    def backward(ctx, *grads):
        saved = list(ctx.saved)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            saved[place] = tensor
        gradients = ctx.run(ctx.bwd, *grads, *saved)
        return (None, None, None, None, *gradients)


def _autograd_function_apply(run, fwd, bwd, *args, non_differentiable_idx=(), **_):
    return _Apply.apply(run, bwd, tuple(non_differentiable_idx), fwd, *args)


def _cond(run, pred, true_graph, false_graph, operands=()):
    return run(true_graph if bool(pred) else false_graph, *operands)


def _while_loop(run, cond, body, carried, additional=()):
    carried = tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in carried)
    for _ in range(_MOST_ITERATIONS):
        proceed = run(cond, *carried, *additional)
        # A graph's result is a tuple.
        if not bool(proceed[0] if isinstance(proceed, (tuple, list)) else proceed):
            return carried
        carried = run(body, *carried, *additional)
    raise RuntimeError(f"while_loop takes more than {_MOST_ITERATIONS} iterations")


def _map(run, body, mapped, others=()):
    rows = zip(*(m.unbind() for m in mapped))
    results = zip(*(run(body, *row, *others) for row in rows))
    return tuple(torch.stack(result) for result in results)


def _scan(run, combine, init, xs, additional=()):
    carry, rows = list(init), []
    for row in zip(*(x.unbind() for x in xs)):
        results = run(combine, *carry, *row, *additional)
        carry = list(results[: len(carry)])
        rows.append(results[len(carry):])
    return (*carry, *(torch.stack(column) for column in zip(*rows)))


def _associative_scan(run, combine, xs, additional=()):
    """Of dimension 0, one after another: the order of combining is the only one there is."""
    rows = list(zip(*(x.unbind() for x in xs)))
    results = rows[:1]
    for row in rows[1:]:
        results.append(tuple(run(combine, *results[-1], *row, *additional)))
    return tuple(torch.stack(column) for column in zip(*results))


def _wrap(run, body, *args, **_):
    return run(body, *args)


def _invoke_subgraph(run, body, _identifier, *operands):
    return run(body, *operands)


def _hints_wrapper(run, body, args, _kwargs, **_):
    return run(body, *args)


def _wrap_with_set_grad_enabled(run, enabled, body, *args):
    with torch.set_grad_enabled(enabled):
        return run(body, *args)


def _wrap_with_autocast(run, device_type, dtype, enabled, cache_enabled, body, *args):
    with torch.autocast(device_type, dtype, enabled, cache_enabled):
        return run(body, *args)


def _flex_attention(run, query, key, value, score_mod, block_mask, scale, _kernel_options,
                    score_buffers=(), mask_buffers=()):
    """Eager's own formula; the modifiers see whole, broadcast indices instead of single ones."""
    groups = query.size(1) // key.size(1)
    key, value = (torch.repeat_interleave(t, groups, dim=1) if groups != 1 else t
                  for t in (key, value))
    key, value = (t.expand(query.size(0), *t.shape[1:]) for t in (key, value))
    precise = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = query.to(precise) @ key.to(precise).transpose(-2, -1) * scale
    places = [torch.arange(size, device=query.device).view([-1 if d == at else 1 for d in range(4)])
              for at, size in enumerate(scores.shape)]
    visible = _only(run(block_mask[-1], *places, *mask_buffers))
    scores = _only(run(score_mod, scores, *places, *score_buffers))
    scores = torch.where(visible, scores, -math.inf)
    logsumexp, largest = scores.logsumexp(-1), scores.amax(-1)
    nothing_seen = (scores == -math.inf).all(-1)
    logsumexp = torch.where(nothing_seen, -math.inf, logsumexp)
    out = torch._safe_softmax(scores, -1).to(query.dtype) @ value.to(query.dtype)
    return (_with_order_of(out, query), logsumexp / math.log(2),
            (largest / math.log(2)).detach())


def _only(result):
    return result[0] if isinstance(result, (tuple, list)) else result


def _with_order_of(result, like):
    """Dense, its dimensions in memory as those of `like`."""
    order = sorted(range(like.dim()), key=like.stride, reverse=True)
    inverse = sorted(range(like.dim()), key=order.__getitem__)
    return result.permute(order).contiguous().permute(inverse)


_ROWS = {
    "associative_scan": _associative_scan,
    "autograd_function_apply": _autograd_function_apply,
    "cond": _cond,
    "flex_attention": _flex_attention,
    "hints_wrapper": _hints_wrapper,
    "invoke_subgraph": _invoke_subgraph,
    "map_impl": _map,
    "scan": _scan,
    "tag_activation_checkpoint": _wrap,
    "while_loop": _while_loop,
    "wrap": _wrap,
    "wrap_activation_checkpoint": _wrap,
    "wrap_with_autocast": _wrap_with_autocast,
    "wrap_with_set_grad_enabled": _wrap_with_set_grad_enabled,
}


def run_higher_order(operator, run, args, kwargs):
    """The operator's result; RuntimeError where it has no row."""
    row = _ROWS.get(operator.name())
    if row is None:
        raise RuntimeError(f"the higher-order operator {operator.name()} is not captured yet")
    return row(run, *args, **kwargs)
