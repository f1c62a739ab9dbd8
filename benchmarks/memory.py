"""Throughput of one DRAM channel in the engine.

Run: ``python benchmarks/memory.py [requests]`` (500,000 by default). Each trace has a line with requests per
second of CPU time, CPU ns per request, simulated cycles per request and the share of the peak bandwidth.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator

from fiberscope.hw.dram import DramChannel, DramSpecification
from fiberscope.hw.dram.trace import ReplySink, Request, TraceSource, reads_of
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.sim.import_mode import compiled
from fiberscope.sim.kernel import Kernel

REPEATS = 3  # the minimum counts
SPAN = 1 << 28  # address range of random requests in bytes


def _sequential(count: int, size: int) -> Iterator[Request]:
    return ((0, READ, place * size) for place in range(count))


def _random(count: int, size: int) -> Iterator[Request]:
    generator = random.Random(1)
    return ((0, READ, generator.randrange(SPAN // size) * size) for _ in range(count))


def _mixed(count: int, size: int) -> Iterator[Request]:
    """Yield requests of which half are sequential and half random; a quarter are writes."""
    generator = random.Random(2)
    for place in range(count):
        line = place if generator.random() < 0.5 else generator.randrange(SPAN // size)
        yield 0, WRITE if generator.random() < 0.25 else READ, line * size


TRACES: dict[str, Callable[[int, int], Iterator[Request]]] = {
    "sequential": _sequential,
    "random": _random,
    "mixed": _mixed,
}
SPECIFICATIONS = {
    "HBM2 32 B RoBaRaCoCh": DramSpecification(request_bytes=32, interleave_bytes=32),
    "HBM2 32 B MOP4CLXOR": DramSpecification(request_bytes=32, interleave_bytes=32, address_map="MOP4CLXOR"),
    "HBM2 64 B RoCoBaBgCl": DramSpecification(address_map="RoCoBaBgCl"),
    "HBM1 x64 64 B RoCoBaBgCl": DramSpecification(standard="HBM1_1000", width=64, address_map="RoCoBaBgCl"),
}


def measure(specification: DramSpecification, requests: list[Request]) -> tuple[float, int]:
    """Return host CPU seconds and simulated cycles of one trace."""
    kernel = Kernel()
    kernel.clock("memory", specification.clock_hertz)
    source = kernel.add(TraceSource("source", requests, 1))
    dram = kernel.add(DramChannel("dram", specification))
    sink = kernel.add(ReplySink("sink", reads_of(requests)))
    kernel.connect(source, "requests", dram, "requests", capacity=8)
    kernel.connect(dram, "replies", sink, "replies", capacity=8)
    kernel.build()
    start = time.process_time()
    run = kernel.run()
    return time.process_time() - start, run.cycles


def main(count: int) -> None:
    """Print one line per trace and specification."""
    print(f"{count} requests a trace, {'compiled' if compiled() else 'uncompiled'}")
    for title, specification in SPECIFICATIONS.items():
        peak = float(specification.bytes_per_second / specification.clock_hertz)  # bytes per cycle
        for name, make in TRACES.items():
            requests = list(make(count, specification.request_bytes))
            seconds, cycles = min(measure(specification, requests) for _ in range(REPEATS))
            share = count * specification.request_bytes / cycles / peak
            speed = f"{count / seconds / 1e6:6.2f} M/s {seconds / count * 1e9:6.0f} ns/request"
            print(f"{title:28} {name:10} {speed} {cycles / count:6.2f} cycles/request {share:6.1%} of peak")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
