"""A graph of the stream machine as one module: its blocks, the channels between them, and what fills them.

    netlist("x", {"scanner": Part(...), ...}, {"scanner.out_crd": ["writer.in_crd"]}, ["scanner.in_ref"], {})

A stream with one consumer is a channel. One with several is a fork and a channel for each of them, one with
none a fork that takes every token away. The module's own ports have a block's name before them: ``root``
where a tensor's first block gets its reference, ``load`` for a memory that is read, ``store`` for one that is
written, ``overflow`` for what an accumulator has no place for.
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

__all__ = ["exported", "netlist"]

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
    """The composition of a graph.

    Args:
        module: its name.
        blocks: its blocks by name.
        consumers: the inputs that read an output, ``block.port`` each; an output that is not named has none.
        roots: the inputs at which a tensor begins, each of which gets a channel and a port.
        channels: the channels of that to each input the capacity, in tokens, and the latency, in cycles.
        entries, exits: inputs and outputs that are the module's own, under the names of block and port.
        wires: between ports that no channel joins.

    Raises:
        ValueError: if they do not fit together, all that does not at once; see ``Composition``.
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
                readers = consumers.get(end) or consumers.get(f"{name}.{stream.port[0]}", ())
                if len(readers) == 1:
                    links.append(Link(end, readers[0], *channels[readers[0]]))
                else:
                    place = f"{FORK}_{name}_{stream.prefix}"
                    links.append(Link(end, f"{place}.in", 0))
                    links += _forked(parts, place, stream, readers, channels)
    for reader in roots:
        name, _, _port = reader.partition(".")
        place = f"{FORK}_{name}_{ROOT}"
        links += _forked(parts, place, stream_at(blocks, reader), [reader], channels)
        exports[f"{name}_{ROOT}"] = f"{place}.in"
    return Composition(module, parts, tuple(links), exports)


def exported(end: str) -> str:
    """The name of a module's port that is one of a block's."""
    return re.sub(r"\W+", "_", end).rstrip("_")


def _forked(
    parts: dict[str, Part],
    place: str,
    stream: Stream,
    readers: Sequence[str],
    channels: Mapping[str, tuple[int, int]],
) -> Iterator[Link]:
    """Put a fork for a stream there; gives the channels behind it."""
    parts[place] = Part(fork.BLOCK, forking(stream, len(readers)))
    for number, reader in enumerate(readers):
        yield Link(f"{place}.out[{number}]", reader, *channels[reader])
