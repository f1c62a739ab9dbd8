"""A cycle in which a token moves at a block counts as busy, whatever the streams, stalls and sizes."""

import pytest
from pairs import event_side
from scenarios import SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.sim import Input, Kernel
from fiberscope.sim.constants import BUSY

SEEDS = range(4, 9)
SINGLE = [name for name in SCENARIOS if BLOCKS[name].component is not None]
UNCOUNTED = {
    "merger": "tasks",
    "repeater": "in_ref",
}  # inputs whose tokens move in other cycles too, as stated


def moves_beside_busy_cycles(kernel: Kernel, name: str, uncounted: str | None) -> list[int]:
    """Run to the end; return the cycles in which a token moved at a component that did not count as busy."""
    kernel.build()
    block = next(part for part in kernel.components if part.name == name)
    inputs, outputs = (
        [
            channel
            for port in block.declared_ports()
            if isinstance(port, Input) is is_input and port.name != uncounted
            for channel in block.channels(port.name)
        ]
        for is_input in (True, False)
    )
    cycles, moves_before = [], 0
    while kernel.step():
        moves = sum(channel.pops for channel in inputs) + sum(channel.pushes for channel in outputs)
        if moves > moves_before and block._state != BUSY:
            cycles.append(kernel.cycle)
        moves_before = moves
    assert moves_before > 0
    return cycles


@pytest.mark.parametrize("block", SINGLE)
def test_a_cycle_in_which_a_token_moves_is_busy(block):
    for seed in SEEDS:
        kernel = event_side(SCENARIOS[block].pair(seed, backend=lambda: None))
        assert moves_beside_busy_cycles(kernel, "event.block", UNCOUNTED.get(block)) == [], f"seed {seed}"


@pytest.mark.parametrize("block", UNCOUNTED)
def test_planted_a_token_that_moves_in_a_cycle_of_waiting_is_found(block):
    kernel = event_side(SCENARIOS[block].pair(0, backend=lambda: None))
    assert moves_beside_busy_cycles(kernel, "event.block", None) != []
