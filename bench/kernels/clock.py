"""How long calls take on a device, without the host's time where the device can be made to wait.

    clock = clock_of("cuda")
    ms, alone = clock.batch(call, 20, host_seconds)     # a call; alone: no call came late
"""
import time

import torch

HOST_MARGIN = 1.5   # the device is held so much longer than the calls need to be launched
SPIN_CYCLES = 10**8  # of a spin that tells the cycles of a second, and wakes the device


class CpuClock:
    cache_bytes = 0  # nothing is rotated

    def finish(self):
        pass

    def batch(self, call, calls, host_seconds):
        start = time.perf_counter()
        for turn in range(calls):
            call(turn)
        return (time.perf_counter() - start) * 1e3 / calls, True


class CudaClock:
    def __init__(self):
        self.cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        for _ in range(3):
            self.finish()
            start = time.perf_counter()
            torch.cuda._sleep(SPIN_CYCLES)
            self.finish()
            self._cycles_a_second = SPIN_CYCLES / (time.perf_counter() - start)

    def finish(self):
        torch.cuda.synchronize()

    def batch(self, call, calls, host_seconds):
        """The device spins while the host launches, then works the calls off in a row between two
        events. Where it began before the host was done, the time may hold the host's."""
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(int(host_seconds * calls * HOST_MARGIN * self._cycles_a_second))
        first.record()
        for turn in range(calls):
            call(turn)
        alone = not first.query()
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) / calls, alone


def clock_of(device):
    return CudaClock() if device == "cuda" else CpuClock()
