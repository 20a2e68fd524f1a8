"""A case through torch.compile(backend="torchdyn"): Dynamo captures, the compiler stands behind it.

    found = check(case)      # what became of it, as worker.check gives it
"""
import torch
from torchdyn.explanation import Watched

from compare import Comparison

# How problems begin that any backend has, PyTorch's own "eager" too: they lie in Dynamo.
BEFORE = "before the backend: "


def compare(case, backend):
    torch._dynamo.reset()
    return Comparison(case, torch.compile(case.function, backend=backend))


def lies_before_the_backend(case):
    return bool(compare(case, "eager").problem)


def problem_of(case, comparison, watched, graphs):
    if comparison.problem:
        return BEFORE * lies_before_the_backend(case) + comparison.problem
    if comparison.eager.error is not None:
        return ""
    if not watched.graphs:
        return BEFORE + "no graph"
    reasons = watched.explanation().eager_reasons
    rejected = [kernel for graph in graphs for kernel in graph["rejected"]]
    return "; ".join([f"eager: {reason}" for reason in reasons] + rejected)


def check(case):
    """problem, raised, fused, externs, ratio, and the graphs that operators can be read from."""
    watched = Watched()
    comparison = compare(case, watched)
    graphs = [graph for compiled in watched.graphs for variant in compiled.variants
              for graph in variant["graphs"]]
    externs = {name for graph in graphs for name in graph["extern_calls"]}
    problem = problem_of(case, comparison, watched, graphs)
    return {"problem": problem, "raised": comparison.eager.error is not None,
            "fused": not problem and not externs, "externs": externs,
            "ratio": comparison.ratio(), "graphs": graphs}
