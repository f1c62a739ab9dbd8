"""A whole FiberCache: requesters, a crossbar to its banks, one back, and a memory behind two more."""

from dataclasses import dataclass

from memory_stub import LINE, MemoryStub

from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.networks.crossbar import Crossbar
from fiberscope.hw.networks.routes import AddressRoute, PortRoute
from fiberscope.sim import ComponentStatistics, Kernel, Run
from fiberscope.sim.testing import StreamSink, StreamSource


@dataclass(frozen=True)
class CacheOutcome:
    """How a run of a cache ended; replies by requester: cycle, operation, number of the request, line."""

    run: Run
    replies: list[list[tuple[int, int, int, int]]]
    memory: list[tuple[int, int, int, int]]
    statistics: dict[str, ComponentStatistics]


def run_cache(
    banks, requests, *, sets=4, ways=4, queue=2, sleep=True, order_seed=None, crossbar=Crossbar
) -> CacheOutcome:
    """Serve the requests (operation, line) of several requesters at once."""
    kernel = Kernel(sleep=sleep, order_seed=order_seed)
    kernel.clock("core", 10**9)
    specification = FiberCacheSpecification(banks=banks, sets=sets, ways=ways, misses=4, targets=8)
    sources = [
        kernel.add(StreamSource(f"source{port}", _tokens(port, sequence)))
        for port, sequence in enumerate(requests)
    ]
    sinks = [kernel.add(StreamSink(f"sink{port}")) for port in range(len(requests))]
    cells = [kernel.add(FiberCacheBank(f"bank{number}", specification, number)) for number in range(banks)]
    memory = kernel.add(MemoryStub("memory", (12, 30, 7)))
    networks = {
        "requests": kernel.add(crossbar("requests", AddressRoute(LINE))),
        "replies": kernel.add(crossbar("replies", PortRoute())),
        "memory_requests": kernel.add(crossbar("memory_requests", AddressRoute(LINE))),
        "memory_replies": kernel.add(crossbar("memory_replies", PortRoute())),
    }

    def cross(network, starts, ends):
        for index, (component, port) in enumerate(starts):
            kernel.connect(component, port, networks[network], f"inputs[{index}]", capacity=queue)
        for index, (component, port) in enumerate(ends):
            kernel.connect(networks[network], f"outputs[{index}]", component, port, capacity=queue)

    cross("requests", [(source, "out") for source in sources], [(cell, "requests") for cell in cells])
    cross("replies", [(cell, "replies") for cell in cells], [(sink, "in") for sink in sinks])
    cross("memory_requests", [(cell, "memory_requests") for cell in cells], [(memory, "requests")])
    cross("memory_replies", [(memory, "replies")], [(cell, "memory_replies") for cell in cells])
    run = kernel.run(cycle_limit=200_000)
    assert run.complete, f"not done after {run.cycles} cycles"
    return CacheOutcome(run, [_replies(sink) for sink in sinks], memory.log, kernel.statistics())


def _tokens(port, sequence):
    return [
        (operation, port << PORT_SHIFT | number, line * LINE, 0.0)
        for number, (operation, line) in enumerate(sequence)
    ]


def _replies(sink):
    return [
        (cycle, operation, tag & ((1 << PORT_SHIFT) - 1), address // LINE)
        for cycle, (operation, tag, address, _) in sink.received
    ]
