"""Two level scanners before an intersector: fibers of two levels, pair by pair."""

from dataclasses import dataclass

from fiberscope.hw.fibers.intersect import SkipAheadIntersector
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.fibers.scanner import LevelScanner
from fiberscope.hw.stream import DATA
from fiberscope.sim import Component, ComponentStatistics, Kernel, Run
from fiberscope.sim.testing import StreamSink, StreamSource, Token, random_stalls


@dataclass(frozen=True)
class Intersection:
    """How a run ended, (cycle, token) of both sides, and the accounting of all parts."""

    run: Run
    matches_a: list[tuple[int, Token]]
    matches_b: list[tuple[int, Token]]
    statistics: dict[str, ComponentStatistics]


def references(numbers):
    """The tokens that name these fibers."""
    return [(DATA, 0, number, 0.0) for number in numbers]


def intersect_levels(
    a: Level,
    b: Level,
    pairs: list[tuple[int, int]],
    *,
    intersector: Component | None = None,
    window: int = 4,
    skips: bool = True,
    capacity: int = 2,
    latency: int = 1,
    seed: int | None = None,
    **options,
) -> Intersection:
    """Intersect pairs of fibers by number: one of ``a``, one of ``b``.

    Args:
        a, b: the levels.
        pairs: numbers of the fibers.
        intersector: named ``intersector``; one that skips ahead with this window if it is not given.
        window: of the intersector and of the scanners.
        skips: whether the scanners are told what to skip.
        capacity: of every channel.
        latency: of every channel.
        seed: of random stalls; None for none.
        options: of the kernel.
    """
    kernel = Kernel(**options)
    kernel.clock("core", 10**9)
    block = kernel.add(intersector or SkipAheadIntersector("intersector", window))
    size = {"capacity": capacity, "latency": latency}
    sinks = {}
    for side, level in enumerate((a, b)):
        port = "ab"[side]
        stalls = () if seed is None else random_stalls(100 * seed + side)
        numbers = references(pair[side] for pair in pairs)
        source = kernel.add(StreamSource(f"source_{port}", numbers, stalls))
        scanner = kernel.add(LevelScanner(f"scanner_{port}", level, window))
        sinks[port] = kernel.add(StreamSink(f"sink_{port}", stalls))
        kernel.connect(source, "out", scanner, "references", **size)
        kernel.connect(scanner, "elements", block, port, **size)
        kernel.connect(block, f"matches_{port}", sinks[port], "in", **size)
        if skips:
            kernel.connect(block, f"skips_{port}", scanner, "skips", **size)
    run = kernel.run(cycle_limit=1_000_000)
    assert run.complete, f"not done after {run.cycles} cycles"
    return Intersection(run, sinks["a"].received, sinks["b"].received, kernel.statistics())
