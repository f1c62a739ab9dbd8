"""Arrays of ports whose number an argument says: one channel too few or too many is refused when built."""

from dataclasses import replace

import pytest
from pairs import Pair, event_side
from scenarios import SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.sim import SimulationError


def last_ports(pair: Pair) -> dict[str, int]:
    """Return, for each array of ports that is connected, the index of the last."""
    last: dict[str, int] = {}
    for port in (*pair.inputs, *pair.outputs):
        name, bracket, index = port.rstrip("]").partition("[")
        if bracket:
            last[name] = max(int(index), last.get(name, 0))
    return last


def with_ports(pair: Pair, array: str, change: int) -> Pair:
    """Return the pair with a channel more at the end of an array, or without its last channel."""
    last = last_ports(pair)[array]
    port, is_input = f"{array}[{last + max(change, 0)}]", f"{array}[0]" in pair.inputs
    inputs = {name: tokens for name, tokens in pair.inputs.items() if name != port}
    outputs = tuple(name for name in pair.outputs if name != port)
    if change > 0 and is_input:
        inputs[port] = []
    elif change > 0:
        outputs = (*outputs, port)
    return replace(pair, inputs=inputs, outputs=outputs)


# Blocks that take as many channels as are connected; so does each output of a stream block, a broadcast.
VARIABLE = {"concentrator", "crossbar", "islip", "page_allocator", "touched"}
CASES = [
    (name, array)
    for name, scenario in SCENARIOS.items()
    if name not in VARIABLE and BLOCKS[name].component is not None
    for array in last_ports(scenario.pair(0, backend=lambda: None))
    if not array.startswith("out_")
]


@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize(("block", "array"), CASES)
def test_a_channel_too_few_or_too_many_is_refused(block, array, change):
    pair = SCENARIOS[block].pair(0, backend=lambda: None)
    event_side(pair).build()
    with pytest.raises(SimulationError):
        event_side(with_ports(pair, array, change)).build()
