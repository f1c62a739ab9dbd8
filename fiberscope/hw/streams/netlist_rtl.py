"""The netlist of a graph of the stream machine: one module with all blocks and the channels between them.

    netlist("x", {"scanner": Part(...), ...}, {"scanner.out_crd": ["writer.in_crd"]}, ["scanner.in_ref"], {})

A stream with one consumer becomes a channel. A stream with several consumers becomes a fork and a channel for
each consumer. A stream without a consumer becomes a fork that drops all tokens. The ports of the module are
named ``<block>_<port>``. The port ``root`` receives the reference of a tensor's root, ``load`` the words of
a memory, ``store`` sends the words to write, and ``overflow`` the points that do not fit in an accumulator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fiberscope.hw.rtl.kit.composition import stream_at
from fiberscope.hw.rtl.kit.interface import Stream
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part
from fiberscope.hw.streams import fork_rtl as fork
from fiberscope.hw.streams.fork_rtl import forking
from fiberscope.hw.streams.memory_rtl import LOAD, OVERFLOW, STORE

ROOT = "root"
FORK = "fork"


def netlist(
    module: str,
    blocks: Mapping[str, Part],
    consumers: Mapping[str, Sequence[str]],
    roots: Sequence[str],
    channels: Mapping[str, tuple[int, int]],
    *,
    entries: Sequence[str] = (),
    exits: Sequence[str] = (),
    wires: Sequence[Link] = (),
) -> Composition:
    """Return the composition of a graph as one module.

    Args:
        module: name of the module.
        blocks: blocks of the graph by name.
        consumers: for each output ``block.port``, the inputs ``block.port`` that read it; an output without
            an entry has no consumer.
        roots: inputs that receive the reference of a tensor's root; each gets a channel and a port.
        channels: for each input in ``consumers`` and ``roots``, the capacity in tokens and the latency in
            cycles of its channel.
        entries, exits: inputs and outputs that become ports of the module, see ``exported``.
        wires: connections between ports without a channel.

    Raises:
        ValueError: if parts do not fit together; the message lists all errors, see ``Composition``.
    """
    parts, links = dict(blocks), list(wires)
    exports = {exported(end): end for end in (*entries, *exits)}
    joined = {*exits, *(link.source for link in wires)}
    for name, block in blocks.items():
        for stream in block.interface.streams:
            end = f"{name}.{stream.label}"
            if stream.label in (LOAD, OVERFLOW, STORE):
                exports[f"{name}_{stream.label}"] = end
            elif stream.direction == "output" and end not in joined:
                # the label of an output may have an index, which ``consumers`` may leave out
                readers = consumers.get(end) or consumers.get(f"{name}.{stream.port[0]}", ())
                if len(readers) == 1:
                    links.append(Link(end, readers[0], *channels[readers[0]]))
                else:
                    place = f"{FORK}_{name}_{stream.prefix}"
                    links.append(Link(end, f"{place}.in", 0))  # 0: wires, no channel
                    links += _forked(parts, place, stream, readers, channels)
    for reader in roots:  # exports name ports of parts: a fork of one output has the channel behind it
        name, _, _port = reader.partition(".")
        place = f"{FORK}_{name}_{ROOT}"
        links += _forked(parts, place, stream_at(blocks, reader), [reader], channels)
        exports[f"{name}_{ROOT}"] = f"{place}.in"
    return Composition(module, parts, tuple(links), exports)


def exported(end: str) -> str:
    """Return the name of the module's port for the port ``block.port``: other characters become ``_``."""
    return re.sub(r"\W+", "_", end).rstrip("_")


def _forked(
    parts: dict[str, Part],
    place: str,
    stream: Stream,
    readers: Sequence[str],
    channels: Mapping[str, tuple[int, int]],
) -> Iterator[Link]:
    """Add a fork of a stream under the name ``place``, and yield the channels after the fork."""
    parts[place] = Part(fork.BLOCK, forking(stream, len(readers)))
    for number, reader in enumerate(readers):
        yield Link(f"{place}.out[{number}]", reader, *channels[reader])
