"""Intersect with its skips fed back to the scanners: the same matches, no deadlock, fewer elements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_trees import fiber, generator_of, with_gaps

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.join import Intersect
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC, Q7
from fiberscope.hw.streams.skipping_scanner import SkippingScanner
from fiberscope.hw.streams.testing import GIGAHERTZ, TimedSource
from fiberscope.hw.streams.tokens import CRD, REF, format_token
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, check_accounting, random_stalls

seeds = st.integers(0, 2**32)


def level_of(fibers):
    ends = [sum(map(len, fibers[:place])) for place in range(len(fibers) + 1)]
    return Level(ends, [crd for each in fibers for crd in each])


def run(operands, quirks, *, feedback=True, capacity=None, seed=None, order_seed=None, gaps=None):
    """The coordinates that leave, the scanners, and the cycles; fibers of the same number meet."""
    kernel = Kernel(order_seed=order_seed)
    kernel.clock("core", GIGAHERTZ)
    joiner = kernel.add(Intersect("joiner", len(operands), quirks))
    scanners = []
    for way, fibers in enumerate(operands):
        scanner = kernel.add(SkippingScanner(f"scanner{way}", level_of(fibers), quirks))
        references = flatten(range(len(fibers)), 0)
        timed = with_gaps(gaps, references) if gaps else enumerate(references)
        source = kernel.add(TimedSource(f"source{way}", REF, timed))
        kernel.connect(source, "out", scanner, "in_ref", capacity=capacity)
        kernel.connect(scanner, "out_crd[0]", joiner, f"in_crd[{way}]", capacity=capacity)
        kernel.connect(scanner, "out_ref[0]", joiner, f"in_ref[{way}]", capacity=capacity)
        skips = joiner if feedback else kernel.add(TimedSource(f"silent{way}", joiner.ports[-1].carries, ()))
        port = f"out_skip{way}[0]" if feedback else "out"
        kernel.connect(skips, port, scanner, "in_skip", capacity=capacity)
        scanners.append(scanner)
    sink = kernel.add(StreamSink("sink", () if seed is None else random_stalls(seed)))
    kernel.connect(joiner, "out_crd[0]", sink, "in", capacity=capacity)
    cycles = kernel.run().cycles
    check_accounting(kernel.statistics())
    return [format_token(kind, crd, 0.0, CRD) for _, (kind, crd, _, _) in sink.received], scanners, cycles


def matches(operands):
    fibers = [sorted(set.intersection(*map(set, each))) for each in zip(*operands, strict=True)]
    return flatten(fibers, 1)


@given(seeds, st.sampled_from([2, 2, 3]))
def test_the_matches_are_those_of_sets(seed, ways):
    generator = generator_of(seed)
    count = generator.randint(0, 4)
    bounds = [generator.choice([4, 12, 60]) for _ in range(ways)]
    operands = [[fiber(generator, 12, bound) for _ in range(count)] for bound in bounds]
    bench = {
        "feedback": generator.random() < 0.8,
        "capacity": generator.choice([None, 1, 2, 4]),
        "seed": generator.choice([None, 1, 2]),
        "order_seed": generator.choice([None, 1, 2]),
        "gaps": generator.choice([None, generator]),
    }
    # Q7 loses elements, in the public simulator as here.
    quirks = generator.choice([NO_QUIRKS, NO_QUIRKS, PUBLIC & ~Q7])
    found, _scanners, _cycles = run(operands, quirks, **bench)
    assert found == matches(operands)


@pytest.mark.parametrize(("quirks", "capacity"), [(NO_QUIRKS, 2), (NO_QUIRKS, None), (PUBLIC, None)])
def test_long_runs_are_skipped(quirks, capacity):
    operands = [[[*range(400), 1000]], [[*range(500, 900), 1000]]]
    found, scanners, cycles = run(operands, quirks, capacity=capacity)
    assert found == matches(operands)
    _found, _all, plain = run(operands, quirks, feedback=False, capacity=capacity)
    assert cycles < plain / 20
    assert sum(scanner.counters()["skipped"] for scanner in scanners) > 700
