"""What blocks are given where their energy is measured alone: component and twin take all of it alike."""

import pytest

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.tools.stimulus import STIMULI, output_ports, stimulus
from fiberscope.sim.testing import run_block

SMALLER = {
    "sorted_head": {"entries": 4},
    "skip_ahead": {"window": 4},
    "prefix_sum": {"lanes": 4},
    "benes": {"lanes": 4},
}


@pytest.mark.parametrize("name", STIMULI)
def test_it_is_run_to_its_end_and_counts_each_event(name):
    block = BLOCKS[name]
    given = block.parameters(**SMALLER.get(name, {}))
    interface, inputs = block.interface(given), stimulus(name, given)
    assert inputs == stimulus(name, given)
    assert inputs != stimulus(name, given, seed=2)
    made = (
        block.component("block", given),
        block.adapter("block", interface, PyrtlBackend(block.twin(given))),
    )
    outputs = output_ports(interface, block.adapter)
    ends = [run_block(one, inputs, outputs, sleep=False) for one in made]
    event, rtl = (end.statistics["block"].counters for end in ends)
    assert event == rtl
    assert all(rtl[counter] >= 30 for counter in block.adapter.EVENTS)


def test_the_merge_core_has_every_list_in_full():
    given = BLOCKS["sorted_head"].parameters(entries=3)
    inputs = stimulus("sorted_head", given)
    assert sum(token[0] == 0 for token in inputs["elements"]) == 4 * 3 * len(inputs["tasks"])
