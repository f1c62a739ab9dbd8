"""Transcripts of a graph's streams, from the channels of the event model or the wires of a module.

A stream is named after its consumer's input, ``block.port``. Its transcript lists the tokens in the order of
their transfers: cycle, kind, payload and value. Cycle 0 is the transfer of the root reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.interface import Stream, Token, Wire
from fiberscope.hw.rtl.kit.protocol_checker import ProtocolChecker
from fiberscope.hw.streams.memory_rtl import ALONE, OVERFLOW, fill
from fiberscope.hw.streams.netlist_rtl import exported
from fiberscope.hw.streams.tokens import DATA, DONE
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.verilog import GraphVerilog, strip_machine
from fiberscope.sim import Channel, Kernel, SimulationError
from fiberscope.sim.clock import Clock

Transfer = tuple[int, int, int, float]  # cycle, kind, payload or level, value
Transcript = Mapping[str, list[Transfer]]
Stores = dict[str, dict[tuple[int, int], float]]  # by port, control and address
Offers = Mapping[str, Sequence[tuple[int, Token]]]  # by port: tokens, and the first cycle of each


class ChannelTranscripts(NamedTuple):
    """The transcripts of the channels of a machine, by name of the channel.

    Args:
        popped: the tokens that leave the channel, each with its cycle.
        pushed: the tokens that enter the channel, each with its cycle.
        arrivals: for each token of ``pushed``, the cycle of the reader's clock from which it is visible.
    """

    popped: dict[str, list[Transfer]]
    pushed: dict[str, list[Transfer]]
    arrivals: dict[str, list[int]]


ROOT = ((0, Token(DATA, 0, 0, 0.0)), (0, Token(DONE, 0, 0, 0.0)))


def machine_transcript(machine: GraphMachine) -> Transcript:
    """Run the event model to its end, and return the transcript of all of its channels.

    Args:
        machine: a machine before its first cycle.
    """
    links = machine.kernel.wiring.connections
    channels = {
        f"{strip_machine(link.consumer.component)}.{link.consumer.label}": link.channel for link in links
    }
    return record_transcripts(machine.kernel, channels, machine.kernel.clocks[0]).popped


def record_transcripts(kernel: Kernel, channels: Mapping[str, Channel], clock: Clock) -> ChannelTranscripts:
    """Run a machine to its end, and return the transcripts of its channels by name.

    Args:
        kernel: kernel of the machine, before its first cycle.
        channels: the channels to record, by the name that they have in the transcripts.
        clock: the clock whose cycles are recorded.
    """
    transcripts = ChannelTranscripts({}, {}, {})
    popped, pushed, arrivals = transcripts
    for name in channels:
        popped[name], pushed[name], arrivals[name] = [], [], []
    running = True
    while running:
        previous = {
            name: (channel.pops, channel.pushes, channel.token(0)) for name, channel in channels.items()
        }
        running = kernel.step()
        cycle = max(kernel.time, 0) // clock.period
        for name, channel in channels.items():
            pops, pushes, head = previous[name]
            # a channel gives at most one token a cycle, which was its head before the step
            if channel.pops > pops:
                popped[name].append(_transfer(cycle, *head))
            # the new tokens are the last in the channel: none is popped in the cycle of its push
            for index in range(channel.occupancy - (channel.pushes - pushes), channel.occupancy):
                pushed[name].append(_transfer(cycle, *channel.token(index)))
                arrivals[name].append(channel.arrival(index))
    return transcripts


def _transfer(cycle: int, kind: int, payload: int, _reference: int, value: float) -> Transfer:
    return cycle, kind, payload, value


def module_transcript(
    graph: GraphVerilog, backend: Backend, cycles: int, offers: Offers | None = None
) -> tuple[Transcript, Stores]:
    """Fill the memories of a module, run these cycles, and return the transcript and the stored words.

    A token of ``offers`` is valid from its cycle until its transfer; each root offers reference and done.
    Tokens that leave at exits appear under the names of the ports.

    Raises:
        InputError: an accumulator overflows.
        SimulationError: the module violates the protocol of its ports; raised after the last cycle.
    """
    interface = graph.composition.interface()
    fill(backend, interface, graph.loads)
    signal_indices = {name: index for index, name in enumerate(backend.signals())}
    inputs = [(name, stream) for name in graph.names for stream in _list_inputs(graph, name)]
    stream_names = {f"{name}.{stream.label}" for name, stream in inputs}
    nets = {f"{name}.{stream.label}": _list_nets(graph, name, stream) for name, stream in inputs}
    ports = {stream.label: stream for stream in interface.streams}
    stores = [stream for label, stream in ports.items() if label.endswith("_store")]
    overflows = [stream for label, stream in ports.items() if label.endswith(f"_{OVERFLOW}")]
    exits = {end: ports[exported(end)] for end in graph.exits}
    backend.words.drive({stream.wire("ready"): 1 for stream in exits.values()})
    roots = {label: ROOT for label in ports if label.endswith("_root")}
    offered = {ports[label]: list(tokens) for label, tokens in {**roots, **(offers or {})}.items()}
    transcript: dict[str, list[Transfer]] = {name: [] for name in (*sorted(stream_names), *exits)}
    stored_words: Stores = {stream.label: {} for stream in stores}
    checker = ProtocolChecker(interface.module, interface, backend.words, has_done=True)
    for cycle in range(cycles):
        for stream, tokens in offered.items():
            _offer(backend, stream, tokens, cycle)
        backend.cycle()
        checker.cycle(cycle)
        wires = {**backend.words.driven(), **backend.words.seen()}
        for stream, tokens in offered.items():
            del tokens[: stream.moves(wires)]  # True counts as 1: a transfer removes the first token
        _refuse_overflow(overflows, wires)
        for stream in filter(lambda stream: stream.moves(wires), stores):
            control, address, word, value = stream.decode(wires)
            stored_words[stream.label][control, address] = word or value  # the unused field is 0
        for end in (end for end, stream in exits.items() if stream.moves(wires)):
            transcript[end].append(_transfer(cycle, *exits[end].decode(wires)))
        sample = backend.sample()
        for name, stream in inputs:
            values = {wire.name: sample[signal_indices[net]] for wire, net in nets[f"{name}.{stream.label}"]}
            if stream.moves(values):
                transcript[f"{name}.{stream.label}"].append(_transfer(cycle, *stream.decode(values)))
    if checker.violation is not None:
        raise SimulationError(f"PROTOCOL VIOLATION: {checker.violation[1]}")
    return transcript, stored_words


def _list_inputs(graph: GraphVerilog, name: str) -> list[Stream]:
    """Return the streams that a block receives from other blocks."""
    streams = graph.composition.parts[name].interface.streams
    return [stream for stream in streams if stream.direction == "input" and stream.label not in ALONE]


def _list_nets(graph: GraphVerilog, name: str, stream: Stream) -> list[tuple[Wire, str]]:
    """Return the wires of an input with their names in the module; without a channel, those of the source."""
    end = f"{name}.{stream.label}"
    source = next(
        (link.source for link in graph.composition.links if link.target == end and not link.capacity), end
    )
    block, _, label = source.partition(".")
    streams = graph.composition.parts[block].interface.streams
    source_stream = next(module_stream for module_stream in streams if module_stream.label == label)
    pairs = zip(stream.wires(), source_stream.wires(), strict=True)
    return [(wire, f"{block}_{source_wire.name}") for wire, source_wire in pairs]


def _refuse_overflow(overflows: Sequence[Stream], wires: Mapping[str, int]) -> None:
    for stream in overflows:
        if wires[stream.wire("valid")]:
            name = stream.label.removesuffix(f"_{OVERFLOW}")
            raise InputError(f"{name} has no place for a point; --points gives it more")


def _offer(backend: Backend, stream: Stream, tokens: Sequence[tuple[int, Token]], cycle: int) -> None:
    """Offer the first remaining token if its cycle has come."""
    is_valid = bool(tokens) and tokens[0][0] <= cycle
    backend.words.drive({stream.wire("valid"): int(is_valid)})
    if is_valid:
        backend.words.drive(dict(stream.encode(tokens[0][1])))
