"""Blocks with registered outputs: cycle by cycle component and channels; no valid that waits for a ready."""

from dataclasses import replace

import pytest
from cones import cone
from pairs import check_pair
from scenarios import SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.sim import ANY, Component, Input, Output
from fiberscope.sim.testing import head

CAPACITY = 3
NOTHING = lambda *_: ()  # noqa: E731  (what a writer has stored is compared where its port is no channel)
# Ports around which a scenario puts parts of its own.
AROUND = ("memory_requests", "memory_replies", "sums", "requests", "replies", "elements", "stops")


class PassRow(Component):
    """A wire a lane: a row leaves in the cycle in which all of it is there, if all lanes have space."""

    PORTS = (Input("in", ANY, array=True), Output("out", ANY, array=True))

    def tick(self, now):
        sources, sinks = self.channels("in"), self.channels("out")
        full = [sink for sink in sinks if not sink.can_push()]
        if not all(source.can_pop() for source in sources):
            return self.idle()
        if full:
            return self.wait_output(full[0])
        for source, sink in zip(sources, sinks, strict=True):
            sink.push(*head(source))
            source.pop()
        return self.busy(now + 1)


def behind_channels(pair, interface):
    """The component, or those that are composed, each output with a wire behind a channel."""

    def add(kernel, scope):
        inner = pair.composed(kernel, scope) if pair.composed else {}
        block = None if inner else kernel.add(pair.event(f"{scope}.block"))
        ends = {port: inner.get(port, (block, port)) for port in (*pair.inputs, *pair.outputs)}
        if block:
            ends |= {port.name: (block, port.name) for port in block.PORTS if port.name in AROUND}
        for stream in interface.streams:
            if stream.direction == "output" and not stream.lane and stream.labels[0] in ends:
                wire = kernel.add(PassRow(f"{scope}.wire_{stream.prefix}"))
                for i, port in enumerate(stream.labels):
                    kernel.connect(*ends[port], wire, f"in[{i}]", capacity=CAPACITY)
                    ends[port] = (wire, f"out[{i}]")
        return ends

    return add


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", BLOCKS)
def test_it_is_the_component_and_a_channel_behind_each_output(name, seed):
    scenario = SCENARIOS[name]
    parameters = scenario.drawn(seed)
    block = registered(BLOCKS[name], CAPACITY)
    interface, twin = block.interface(parameters), block.twin(parameters)
    pair = scenario.pair(seed)
    backend = lambda: scenario.filled(PyrtlBackend(twin, seed), interface, seed, parameters)  # noqa: E731
    rtl = lambda name: block.adapter(name, interface, backend())  # noqa: E731
    composed = behind_channels(pair, interface)
    around = pair.around if "store" not in block.adapter.PORTS[-1].name else NOTHING
    assert check_pair(replace(pair, rtl=rtl, composed=composed, around=around)) > 60


def waits(block, parameters):
    """The streams in which ``valid`` or a field depends on a ``ready``, or a ``ready`` on another one."""
    twin = block.twin(parameters)
    wires = {wire.name: wire for wire in twin.block.wirevector_set}
    found = []
    for wire in twin.interface.wires():
        if wire.direction == "output" and any(
            name.endswith("_ready") for name in cone(twin.block, wires[wire.name])
        ):
            found.append(wire.name)
    return found


@pytest.mark.parametrize("name", BLOCKS)
def test_nothing_waits_for_a_ready(name):
    assert waits(registered(BLOCKS[name]), SCENARIOS[name].drawn(3)) == []


def test_planted_a_block_without_registers_waits():
    found = waits(BLOCKS["two_finger"], SCENARIOS["two_finger"].drawn(3))
    assert "matches_a_valid" in found
    assert "a_ready" in found


def test_channels_at_inputs_are_as_large_as_those_at_outputs():
    block, parameters = BLOCKS["two_finger"], SCENARIOS["two_finger"].drawn(3)
    whole = registered(block, CAPACITY, inputs=True).compose(parameters)
    capacities = {name: part.parameters.capacity for name, part in whole.parts.items() if name != "block"}
    assert set(capacities.values()) == {CAPACITY}
    assert {name.partition("_")[0] for name in capacities} == {"before", "behind"}
