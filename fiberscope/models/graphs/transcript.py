"""What moves in a graph, stream by stream: in the event model's channels and on a module's wires.

A stream is called as the input that reads it, ``block.port``; what is listed of it is each token that its
reader takes, as cycle, kind, payload and value. Cycles count from that of the root's reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fiberscope.errors import InputError
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.interface import Stream, Token
from fiberscope.hw.streams.memory_rtl import LOAD, OVERFLOW, fill
from fiberscope.hw.streams.tokens import DATA, DONE
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.verilog import GraphVerilog, plain

Taken = tuple[int, int, int, float]  # cycle, kind, payload or level, value
Transcript = Mapping[str, list[Taken]]
Stores = dict[str, dict[tuple[int, int], float]]  # by port, control and address

ROOT = (Token(DATA, 0, 0, 0.0), Token(DONE, 0, 0, 0.0))


def of_machine(machine: GraphMachine) -> Transcript:
    """Run the event model to its end, watching the channels between its blocks."""
    ends = {channel: channel.name.rpartition(".") for channel in machine.kernel.channels()}
    named = {f"{plain(block)}.{port}": channel for channel, (block, _, port) in ends.items()}
    found: dict[str, list[Taken]] = {name: [] for name in named}
    running = True
    while running:
        before = {name: (channel.pops, channel.token(0)) for name, channel in named.items()}
        running = machine.kernel.step()
        for name, channel in named.items():
            pops, (kind, payload, _reference, value) = before[name]
            if channel.pops > pops:
                found[name].append((machine.kernel.cycle, kind, payload, value))
    return found


def of_module(graph: GraphVerilog, backend: Backend, cycles: int) -> tuple[Transcript, Stores]:
    """Fill the memories of a module that is watched, and run so many cycles; also what it stores.

    A root's source offers the reference, then done, each until it is taken.

    Raises:
        InputError: an accumulator has no place for a point.
    """
    interface = graph.composition.interface()
    fill(backend, interface, graph.loads)
    places = {name: place for place, name in enumerate(backend.signals())}
    inputs = [(name, stream) for name in graph.names.values() for stream in _inputs(graph, name)]
    stores = [stream for stream in interface.streams if stream.label.endswith("_store")]
    overflows = [stream for stream in interface.streams if stream.label.endswith(f"_{OVERFLOW}")]
    roots = {stream: 0 for stream in interface.streams if stream.label.endswith("_root")}
    found: dict[str, list[Taken]] = {f"{name}.{stream.label}": [] for name, stream in inputs}
    stored: Stores = {stream.label: {} for stream in stores}
    for cycle in range(cycles):
        for stream, sent in roots.items():
            _offer(backend, stream, sent)
        backend.cycle()
        wires = {**backend.words.driven(), **backend.words.seen()}
        roots = {stream: sent + stream.moves(wires) for stream, sent in roots.items()}
        _refuse_overflow(overflows, wires)
        for stream in filter(lambda stream: stream.moves(wires), stores):
            control, address, word, value = stream.decode(wires)
            stored[stream.label][control, address] = word or value
        sample = backend.sample()
        for name, stream in inputs:
            within = {wire.name: sample[places[f"{name}_{wire.name}"]] for wire in stream.wires()}
            if stream.moves(within):
                token = stream.decode(within)
                found[f"{name}.{stream.label}"].append((cycle, token.control, token.coordinate, token.value))
    return found, stored


def _inputs(graph: GraphVerilog, name: str) -> list[Stream]:
    """The streams that a block reads from others."""
    streams = graph.composition.parts[name].interface.streams
    return [stream for stream in streams if stream.direction == "input" and stream.label != LOAD]


def _refuse_overflow(overflows: Sequence[Stream], wires: Mapping[str, int]) -> None:
    for stream in overflows:
        if wires[stream.wire("valid")]:
            name = stream.label.removesuffix(f"_{OVERFLOW}")
            raise InputError(f"{name} has no place for a point; --points gives it more")


def _offer(backend: Backend, stream: Stream, sent: int) -> None:
    backend.words.drive({stream.wire("valid"): int(sent < len(ROOT))})
    backend.words.drive(dict(stream.encode(ROOT[min(sent, 1)])))
