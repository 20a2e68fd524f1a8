"""One row at one size and dtype: eager and backends in turns.

    bench = Bench("cuda", inductor=False)
    record = bench.measure(ROWS["softmax"], torch.bfloat16, 64 * MIB)
    record["torchdyn"]["gbps"] / record["copy_gbps"]
"""
import math
import statistics
import time

import torch
from torchdyn.explanation import Watched

from clock import clock_of
from rows import GIB
from values import difference

WARM_UP = 3                    # calls, of which the length of a batch follows
ROUNDS, COPY_ROUNDS = 3, 9     # batches of each, in turns; the median counts
BATCH_MS, MOST_CALLS = 3, 30
MOST_SETS = 32


class Call:
    """A function over sets of inputs that take turns; results live until their set's next turn, so
    that neither reads nor writes find their tensors in the cache of the call before."""

    def __init__(self, function, sets, gradients=0, tangents=None):
        self.function, self.sets, self.gradients = function, sets, gradients
        self.tangents = tangents or [None] * len(sets)
        self.kept = [None] * len(sets)

    def __call__(self, turn):
        """The outputs, then the gradients of the first inputs."""
        place = turn % len(self.sets)
        inputs = self.sets[place]
        self.kept[place] = None
        outputs = self.function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        if self.gradients:
            gradients = torch.autograd.grad(outputs, inputs[:self.gradients], self.tangents[place])
            outputs = (*(output.detach() for output in outputs), *gradients)
        self.kept[place] = outputs
        return outputs

    def seeded(self):
        """Of the first set; all subjects draw the same."""
        torch.manual_seed(0)
        return self(0)

    def forget(self):
        self.kept = [None] * len(self.sets)


def nbytes(tensors):
    return sum(tensor.nbytes for tensor in tensors)


def leaves(inputs, gradients):
    return tuple(x.requires_grad_(place < gradients) if x.is_floating_point() else x
                 for place, x in enumerate(inputs))


def what_runs(compiled_graphs):
    """(launches of kernels, names of operators that are ATen's own)"""
    graphs = [g for c in compiled_graphs for variant in c.variants for g in variant["graphs"]]
    return (sum(kernel["launches"] for g in graphs for kernel in g["kernels"]),
            [call for g in graphs for call in g["extern_calls"]])


class Bench:
    def __init__(self, device, inductor):
        self.device, self.inductor = device, inductor
        self.clock = clock_of(device)
        self.copies = {}  # bytes of the tensor -> GB/s

    def copy_gbps(self, size):
        """Of LibTorch's copy of a tensor of about so many bytes: a power of two, 1 GiB at most."""
        size = min(2 ** round(math.log2(max(size, 4))), GIB)
        if size not in self.copies:
            sets = self._sets(lambda: (torch.zeros(size // 4, device=self.device),))
            copy = {"copy": Call(lambda x: x.clone(), sets)}
            ms = self._timed(copy, COPY_ROUNDS)["copy"]["ms"]
            self.copies[size] = 2 * nbytes(sets[0]) / ms / 1e6
        return self.copies[size]

    def measure(self, row, dtype, size):
        """{"largest", "bytes", "copy_gbps", "eager": {"ms", "host_ms", "alone", "gbps"}, ...}, with
        bytes of the largest input and of all that must move, and a dict for each backend. Of ours
        "kernels" and "calls" too. Where values are not eager's, or ours ran in eager, "wrong" or
        "eager_reasons" instead of times."""
        torch._dynamo.reset()  # each size and dtype is captured on its own
        torch.manual_seed(1)
        sets = self._sets(lambda: leaves(
            row.inputs(max(size // dtype.itemsize, 1), dtype, self.device), row.gradients))
        eager = Call(row.function, sets)
        tangents = [None] * len(sets)
        if row.gradients:
            output = row.function(*sets[0]).detach()
            if output.dim():
                tangents = [torch.randn_like(output) for _ in sets]
            eager = Call(row.function, sets, row.gradients, tangents)
        expected = eager.seeded()
        moved = (nbytes(sets[0]) + nbytes(expected) + nbytes(sets[0][:row.again])
                 + nbytes([t for t in tangents[:1] if t is not None]))
        largest = max(x.nbytes for x in sets[0])
        record = {"largest": largest, "bytes": moved, "copy_gbps": self.copy_gbps(largest),
                  "eager": {}}
        calls = {"eager": eager}
        for name, backend in self._backends().items():
            compiled = torch.compile(row.function, backend=backend, fullgraph=True, dynamic=False)
            call = Call(compiled, sets, row.gradients, tangents)
            record[name] = self._checked(name, backend, row, call, expected)
            if not record[name].keys() & {"wrong", "eager_reasons"}:
                calls[name] = call
        del expected
        for name, times in self._timed(calls).items():
            record[name] |= times | {"gbps": moved / times["ms"] / 1e6}
        return record

    def _backends(self):
        return {"torchdyn": Watched()} | ({"inductor": "inductor"} if self.inductor else {})

    def _sets(self, make):
        first = make()
        count = math.ceil(2 * self.clock.cache_bytes / max(nbytes(first), 1))
        return [first, *(make() for _ in range(min(count, MOST_SETS) - 1))]

    def _checked(self, name, backend, row, call, expected):
        """What became of a compiled function, and whether its values are eager's."""
        got, found = call.seeded(), {}
        if name == "torchdyn":
            found["kernels"], found["calls"] = what_runs(backend.graphs)
            explanation = backend.explanation()
            reasons = explanation.eager_reasons + explanation.rejected
            if not found["kernels"] + len(found["calls"]):
                reasons.append("nothing was compiled")
            if reasons:
                found["eager_reasons"] = reasons
        if row.random and name != "torchdyn":  # another random stream
            return found

        def exact():
            wide = leaves(tuple(x.detach().double() if x.is_floating_point() else x
                                for x in call.sets[0]), row.gradients)
            tangent = call.tangents[0]
            return Call(row.function, [wide], row.gradients,
                        [tangent if tangent is None else tangent.double()]).seeded()

        if wrong := difference(got, expected, None if row.random else exact):
            found["wrong"] = wrong
        return found

    def _timed(self, calls, rounds=ROUNDS):
        """{name: {"ms", "host_ms", "alone"}} of a call of each."""
        lengths, times = {}, {name: [] for name in calls}
        for name, call in calls.items():
            for turn in range(len(call.sets)):
                call(turn)
            self.clock.finish()
            start = time.perf_counter()
            for turn in range(WARM_UP):
                call(turn)
            launched = time.perf_counter()
            self.clock.finish()
            whole = (time.perf_counter() - start) / WARM_UP
            count = min(max(math.ceil(BATCH_MS / 1e3 / whole), 1), MOST_CALLS)
            lengths[name] = count, (launched - start) / WARM_UP
            call.forget()
        for _ in range(rounds):
            for name, call in calls.items():
                times[name].append(self.clock.batch(call, *lengths[name]))
                call.forget()
        return {name: {"ms": statistics.median(ms for ms, _ in batches),
                       "host_ms": lengths[name][1] * 1e3,
                       "alone": all(alone for _, alone in batches)}
                for name, batches in times.items()}
