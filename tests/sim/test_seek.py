"""Seeking: the cycle in which a condition first holds is that of a run looked at step by step."""

from fractions import Fraction

import pytest
from networks import Node
from watched import funnel, watched

from fiberscope.sim.condition import Onset
from fiberscope.sim.seek import seek
from fiberscope.sim.trigger import Trigger

SOURCES = (Node("source", 0, 40, stalls=(3, 0, 90)), Node("source", 0, 30))
NETWORKS = {
    "one clock": funnel(SOURCES, pauses=(0, 5, 30)),
    "slower last clock": funnel(SOURCES, frequencies=(Fraction(10**9), Fraction(10**9, 3)), pauses=(0, 4)),
    "faster last clock": funnel(SOURCES, frequencies=(Fraction(10**9), Fraction(7 * 10**9)), hold=1),
}
LAST = 2000  # cycles; all these runs are shorter
CONDITIONS = (
    "cycle >= 100",
    "cycle >= 90 and source0 output_stall > 20",
    "source0.state == full:out and source1.state == busy",
    "sink4.in >= 2 or arbiter2.out[0] >= 2",
    "sink4.in has coordinate == 17",
    "arbiter2.in[0] has coordinate >= 33 and cycle > 60",
    "sink4.in has coordinate == 29 and sink4 busy > 20",
    "* idle == 12",
    "delay3 busy != 0",
)


def first_cycle(network, condition: str, *, onset: bool) -> int:
    """The first cycle in which a condition holds, or begins to; read after each cycle without sleep."""
    kernel = watched(network, sleep=False)
    kernel.build()
    trigger, period = Trigger(condition, kernel), kernel.clocks[0].period
    held = trigger.holds(0)
    for cycle in range(LAST):
        came = False
        while kernel.time < cycle * period - 1 and kernel.step():
            came |= " has " in condition and trigger.holds(kernel.time + 1)
        holds = trigger.holds(cycle * period) or came
        if holds and not (onset and held):
            return cycle
        held = holds
    return LAST


@pytest.mark.parametrize("onset", [False, True], ids=["holds", "begins"])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_seek_stops_in_the_first_cycle_in_which_a_condition_holds(network, condition, onset):
    expected = first_cycle(network, condition, onset=onset)
    kernel = watched(network)
    kernel.build()
    predicate = Trigger(condition, kernel).predicate
    conditions = [Onset(predicate, 0) if onset else predicate]
    cycle = seek(kernel, 0, LAST, conditions)
    assert cycle == expected or (
        expected == LAST and not conditions[0].holds(cycle * kernel.clocks[0].period)
    )


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_no_token_passes_a_channel_unseen(network):
    """Each coordinate that the sink receives stops a seek, also where tokens come and go within a cycle."""
    kernel = watched(network)
    kernel.run()
    sink = kernel.components[-1]
    coordinates = {token[1] for _cycle, token in sink.received}
    assert len(coordinates) == 40
    for coordinate in sorted(coordinates)[::6]:
        kernel = watched(network)
        kernel.build()
        condition = Trigger(f"sink4.in has coordinate == {coordinate}", kernel).predicate
        cycle = seek(kernel, 0, LAST, [condition])
        assert cycle < LAST
        period = kernel.clocks[0].period
        assert condition.holds(cycle * period)
