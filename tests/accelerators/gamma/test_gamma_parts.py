"""Blocks of the user's own in the place of Gamma's: a clean seam, and one line for what does not fit it."""

import numpy as np
import pytest
from gamma_bench import configured, operands, run_gamma, tiny
from hypothesis import given, settings
from scipy import sparse

from fiberscope.accelerators.gamma.element import ProcessingElement
from fiberscope.accelerators.gamma.machine import Gamma
from fiberscope.accelerators.gamma.prefetcher import Prefetcher
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.testing import cycles
from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.pages import PageAllocator
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.networks.crossbar import Crossbar
from fiberscope.sim import Input, SimulationError


class PlainMerger(HighRadixMerger):
    """The same merger, as a plain Python class."""


class PlainMultiplier(Multiplier):
    """The same multiplier."""


class PlainAccumulator(Accumulator):
    """The same accumulator."""


class PlainBank(FiberCacheBank):
    """The same bank."""


class PlainCrossbar(Crossbar):
    """The same crossbar."""


class PlainAllocator(PageAllocator):
    """The same allocator of pages."""


class PlainScheduler(Scheduler):
    """The same scheduler."""


class PlainPrefetcher(Prefetcher):
    """The same prefetcher."""


class PlainElement(ProcessingElement):
    """The same processing element."""


PLAIN = {
    "pe": PlainElement,
    "page_allocator": PlainAllocator,
    "prefetcher": PlainPrefetcher,
    "scheduler": PlainScheduler,
    "merger": PlainMerger,
    "multiplier": PlainMultiplier,
    "accumulator": PlainAccumulator,
    "bank": PlainBank,
    "crossbar": PlainCrossbar,
}


@given(operands(longest=8))
@settings(max_examples=10)
def test_parts_that_do_the_same_change_nothing(given_operands):
    a, b = given_operands
    expected = run_gamma(tiny(), a, b)
    machine = Gamma(tiny(), a, b, parts=PLAIN)
    assert machine.kernel.run().complete
    assert cycles(machine) == cycles(expected)
    assert machine.operations() == expected.operations()
    assert machine.kernel.statistics() == expected.kernel.statistics()


def test_every_part_is_taken_from_what_is_given():
    a = sparse.csr_array(np.eye(3))
    machine = Gamma(tiny(), a, a, parts=PLAIN)
    made = {type(part) for part in (*machine.kernel.components, *machine.elements)}
    assert made >= set(PLAIN.values())
    assert not made & set(Gamma.PARTS.values())
    assert PLAIN.keys() == Gamma.PARTS.keys()


def test_one_element_can_differ_from_the_others():
    def merger(name, radix, stages):
        return (PlainMerger if name == "gamma.pe01.merger" else HighRadixMerger)(name, radix, stages)

    a = sparse.csr_array(np.eye(3))
    machine = Gamma(configured(pe__count=3), a, a, parts={"merger": merger})
    kinds = [type(element.merger) for element in machine.elements]
    assert kinds == [HighRadixMerger, PlainMerger, HighRadixMerger]


class WithoutCounters(HighRadixMerger):
    def counters(self):
        return {}


class WithoutOutput(HighRadixMerger):
    PORTS = tuple(port for port in HighRadixMerger.PORTS if isinstance(port, Input))


@pytest.mark.parametrize(
    ("merger", "message"),
    [
        (
            WithoutCounters,
            r"gamma\.pe00\.merger \(WithoutCounters\) should count merged_elements in counters",
        ),
        (WithoutOutput, r"gamma\.pe00\.merger has no output port merged; it has none"),
    ],
)
def test_a_part_that_does_not_fit_is_found_when_the_machine_is_built(merger, message):
    a = sparse.csr_array(np.eye(3))
    with pytest.raises(SimulationError, match=message):
        Gamma(tiny(), a, a, parts={"merger": merger})
