"""The stream prefetcher as RTL: the twin of ``fiberscope.hw.memory.prefetch.StreamPrefetcher``, without data.

The module sends the number of each element. A memory for the data of the lines, with as many lines as the
module has buffers, would be outside of the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import pyrtl

from fiberscope.hw.memory.prefetch import StreamPrefetcher
from fiberscope.hw.memory.protocol import READ
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING, following, pointer, stored
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, number, one_of
from fiberscope.hw.rtl.kit.trees import any_of
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    Signal,
    Streams,
    alias,
    index_bits,
    packed,
    unless,
    unpacked,
)
from fiberscope.hw.rtl.kit.unit import PortContents, StatusCounter, tokens, unit
from fiberscope.sim.channel import Channel

LINES = (8, 16, 32, 64, 128, 256)  # bytes
BUFFERS = (1, 16)
FETCHED = "fetched"  # status output: bytes of the line that is requested in this cycle
USED = "used"  # status output: bytes of the element that is sent in this cycle

# Fields of a job: ``element`` (the next), ``end`` (the one after the last), ``open`` (no end yet), ``reach``
# (end of the next element, in bytes from the start of the line that is read).
Job = Mapping[str, Signal]


@dataclass(frozen=True)
class StreamPrefetcherParameters(Parameters):
    """Parameters of a prefetcher.

    Args:
        base: byte address of element 0, a multiple of ``line_bytes`` below 2**60 that fits ``address_bits``.
        element_bytes: bytes of an element, 1 to 256, at most ``line_bytes``.
        line_bytes: bytes of a line, a power of two, 8 to 256.
        lines: number of line buffers, 1 to 16.
        element_bits: bits of an element's number, 9 to 48.
        address_bits: bits of an address, 16 to 64; the highest is 0, as addresses are not negative.

    Raises:
        ValueError: a number is out of its range, or ``base`` is not a multiple of ``line_bytes``.
    """

    base: int = number(0, 0, (1 << 60) - LINES[-1])
    element_bytes: int = number(12, 1, LINES[-1])
    line_bytes: int = one_of(64, *LINES)
    lines: int = number(4, *BUFFERS)
    element_bits: int = number(32, 9, 48)
    address_bits: int = number(48, 16, 64)

    def __post_init__(self) -> None:
        """Check the parameters, also together: an element fits a line, and the base fits an address."""
        super().__post_init__()
        check_range("stream_prefetcher", "element_bytes", self.element_bytes, 1, self.line_bytes)
        most = min((1 << 60) - LINES[-1], (1 << self.address_bits - 1) - self.line_bytes)
        check_range("stream_prefetcher", "base", self.base, 0, most)
        if self.base % self.line_bytes:
            raise ValueError(
                f"stream_prefetcher: base must be a multiple of {self.line_bytes}, not {self.base}"
            )

    @property
    def offset_bits(self) -> int:
        """Return the bits of the offset of a byte in its line."""
        return self.line_bytes.bit_length() - 1

    @property
    def line_bits(self) -> int:
        """Return the bits of the number of a line, counted from the base."""
        return self.element_bits + self.element_bytes.bit_length()


def port_contents(parameters: StreamPrefetcherParameters) -> PortContents:
    """Return the ports; the tag of a request is the number of a line buffer."""
    element = {"coordinate": parameters.element_bits}
    memory = _memory(parameters)
    return {
        "jobs": {**element, "reference": parameters.element_bits + 1},
        "stops": {"control": 1},
        "elements": {"control": 1, **element},
        "requests": memory.stream("requests", "output"),
        "replies": memory.tags("replies", "input"),
    }


def status(parameters: StreamPrefetcherParameters) -> Mapping[str, int]:
    """Return the status outputs.

    ``fetched`` and ``used`` are bytes of this cycle. ``pending`` is high in a cycle that only moves on to the
    next line, as no element ends in the current line.
    """
    size = parameters.line_bytes.bit_length()
    return {FETCHED: size, USED: size, PENDING: 1}


def _memory(parameters: StreamPrefetcherParameters) -> MemoryPort:
    """Return the fields of the memory port, at which the tag is the number of a line buffer."""
    return MemoryPort(index_bits(parameters.lines), parameters.address_bits)


@dataclass(frozen=True)
class _Moves:
    """Wires for the actions of a cycle, declared first and driven by the parts of the design.

    Args:
        takes: a job is accepted.
        stops: the oldest job is stopped by a token at ``stops``.
        ends: the oldest job ends, stopped or not.
        asks: a line is requested.
        frees: the buffer that is read becomes free.
    """

    takes: Signal
    stops: Signal
    ends: Signal
    asks: Signal
    frees: Signal


def design(parameters: StreamPrefetcherParameters, streams: Streams) -> None:
    """Create the line buffers, which are used in turn, the requests, the queue of jobs, and their service."""
    moves = _Moves(*(pyrtl.WireVector(1, name) for name in ("takes", "stopped", "ends", "asks", "frees")))
    asking, is_free, is_here = _buffers(parameters, streams, moves)
    is_asked = _ask(parameters, streams, moves, asking, is_free)
    active, loads, behind = _jobs(parameters, streams, moves, is_asked)
    job = {name: DataRegister(len(wire), f"job_{name}") for name, wire in behind.items()}
    stepped = _serve(parameters, streams, moves, active, job, is_here)
    for name, register in job.items():
        register.next <<= pyrtl.select(loads, behind[name], stepped[name])


def _buffers(
    parameters: StreamPrefetcherParameters, streams: Streams, moves: _Moves
) -> tuple[Signal, Signal, Signal]:
    """Create the states of the buffers.

    Returns:
        The number of the buffer for the next request, whether it is free, and whether the line to read has
        arrived.
    """
    replies = streams.inputs["replies"]
    replies.accept(pyrtl.Const(1, 1))  # every requested line has a buffer
    count = parameters.lines
    asking = pointer("asking", count, moves.asks)
    reading: Signal = pyrtl.Register(len(asking), "reading")
    reading.next <<= pyrtl.select(
        moves.stops, asking, pyrtl.select(moves.frees, following(reading, count), reading)
    )
    free, here = [], []
    for i in range(count):
        flies, dropped, comes = (pyrtl.Register(1, f"{name}_{i:02}") for name in ("flies", "dropped", "here"))
        replied = replies.valid & (replies.fields["coordinate"] == i)
        flies.next <<= (flies & ~replied) | (moves.asks & (asking == i))
        dropped.next <<= (dropped | (moves.stops & flies)) & ~replied
        kept = comes & ~(moves.frees & (reading == i))
        comes.next <<= (kept | (replied & ~dropped)) & ~moves.stops
        free.append((asking == i) & ~flies & ~comes)
        here.append((reading == i) & comes)
    return asking, any_of("free", free), any_of("read", here)


def _ask(
    parameters: StreamPrefetcherParameters, streams: Streams, moves: _Moves, asking: Signal, is_free: Signal
) -> Signal:
    """Request the lines of the youngest job; return whether all of them are requested."""
    jobs, requests = streams.inputs["jobs"].fields, streams.outputs["requests"]
    low, first = parameters.offset_bits, _bytes(parameters, jobs["coordinate"])
    end = _bytes(parameters, jobs["reference"][:-1])
    # The end of the job in bytes, rounded up to a whole line; an empty job has no line
    last = pyrtl.select(jobs["reference"] == jobs["coordinate"], first, end + parameters.line_bytes - 1)
    is_open: Signal = pyrtl.Register(1, "asks_open")
    line, behind = (pyrtl.Register(parameters.line_bits, name) for name in ("next_line", "end_line"))
    more = alias("more", is_open | (line != behind))
    is_open.next <<= pyrtl.select(moves.takes, jobs["reference"][-1], is_open & ~moves.stops)
    line.next <<= pyrtl.select(moves.takes, first[low:], (line + moves.asks)[: len(line)])
    behind.next <<= pyrtl.select(
        moves.takes, last[low : low + len(line)], pyrtl.select(moves.stops, line, behind)
    )
    offers = alias("offers", more & is_free & ~moves.stops)
    address = pyrtl.concat(line, pyrtl.Const(0, low)) + parameters.base
    port = _memory(parameters)
    fitted = address.zero_extended(max(len(address), parameters.address_bits))[: parameters.address_bits]
    requests.send(offers, port.token(port.operation(READ), asking, fitted))
    asks = moves.asks
    asks <<= offers & requests.ready
    streams.show(FETCHED, unless(~asks, pyrtl.Const(parameters.line_bytes)))
    return ~more


def _bytes(parameters: StreamPrefetcherParameters, element: Signal) -> Signal:
    """Return the offset of an element from the base, in bytes: a product by shifts and additions."""
    bits = parameters.line_bits + parameters.offset_bits
    shifts = [i for i in range(parameters.element_bytes.bit_length()) if parameters.element_bytes >> i & 1]
    return reduce(
        add, (pyrtl.concat(element, pyrtl.Const(0, i)) if i else element for i in shifts)
    ).zero_extended(bits)[:bits]


def _jobs(
    parameters: StreamPrefetcherParameters, streams: Streams, moves: _Moves, is_asked: Signal
) -> tuple[Signal, Signal, Job]:
    """Accept jobs, and queue them behind the job that is served.

    Returns:
        Whether a job is served, whether another job starts in the next cycle, and this job: the first in the
        queue, or the job that is accepted in this cycle.
    """
    jobs, low = streams.inputs["jobs"], parameters.offset_bits
    first, end = jobs.fields["coordinate"], jobs.fields["reference"]
    reach = (_bytes(parameters, first)[:low] + parameters.element_bytes).zero_extended(low + 2)[: low + 2]
    fresh = {"element": first, "end": end[:-1], "open": end[-1], "reach": reach}
    active: Signal = pyrtl.Register(1, "active")
    held: Signal = pyrtl.Register(parameters.lines.bit_length(), "held")
    room = alias("room", held + active < parameters.lines)
    jobs.accept(is_asked & room)
    takes = moves.takes
    takes <<= jobs.valid & is_asked & room
    # A job without another before it is served from the next cycle on, past the queue
    direct = alias("direct", takes & (held == 0) & (~active | moves.ends))
    queues = alias("queues", takes & ~direct)
    pops = alias("pops", moves.ends & (held != 0))
    held.next <<= (held + queues - pops)[: len(held)]
    active.next <<= direct | pops | (active & ~moves.ends)
    if parameters.lines == 1:
        return active, direct, fresh
    word = stored(parameters.lines - 1, [packed(fresh)], [queues], pops)
    queued = unpacked(word, fresh)
    behind = {name: pyrtl.select(direct, wire, queued[name]) for name, wire in fresh.items()}
    return active, direct | pops, behind


def _serve(
    parameters: StreamPrefetcherParameters,
    streams: Streams,
    moves: _Moves,
    active: Signal,
    job: Job,
    is_here: Signal,
) -> Job:
    """Send the next element of the job, or its stop; return the state of the job in the next cycle.

    Args:
        streams: the streams of the module.
        moves: the actions; this function drives ``stops``, ``ends`` and ``frees``.
        active: whether there is a job.
        job: its state.
        is_here: whether the line to read has arrived.
    """
    elements, stops = streams.outputs["elements"], streams.inputs["stops"]
    size, element = parameters.line_bytes, job["element"]
    at_end = alias("at_end", ~job["open"] & (element == job["end"]))
    stopping = alias("stopping", active & job["open"] & stops.valid)
    fits = alias("fits", is_here & (job["reach"] <= size))
    stop = active & (stopping | at_end)
    elements.send(active & (stop | fits), {"control": stop, "coordinate": unless(stop, element)})
    stops.accept(active & job["open"] & elements.ready)
    gives = alias("gives", active & ~stop & fits & elements.ready)
    stopped, ends, frees = moves.stops, moves.ends, moves.frees
    stopped <<= stopping & elements.ready
    ends <<= stop & elements.ready
    # No element ends in the line: its bytes move to the register, which is outside of the module
    passes = alias("passes", active & ~at_end & is_here & ~fits & ~stopped)
    reach = (job["reach"] + unless(~gives, pyrtl.Const(parameters.element_bytes)))[: len(job["reach"])]
    after = (element + gives)[: len(element)]
    is_last = ~job["open"] & (after == job["end"])
    frees <<= passes | (gives & (is_last | (reach > size)))
    streams.show(USED, unless(~gives, pyrtl.Const(parameters.element_bytes)))
    streams.show(PENDING, passes)
    return {**job, "element": after, "reach": pyrtl.select(frees, (reach - size)[: len(reach)], reach)}


class StreamPrefetcherAdapter(Adapter):
    """The adapter for a ``StreamPrefetcher``.

    A cycle that only moves on to the next line is busy. Within a job, the module waits for a line.
    """

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """See ``Adapter`` and the class."""
        return self.busy(now + 1) if self.status[PENDING] else super().account(now, moved, blocked)

    def awaited(self) -> Channel | None:
        """Return the channel of replies within a job, else None."""
        within = self.end("jobs").tokens > self.end("elements").stops
        return self.end("replies").waits_at() if within else None


def _matching(
    base: int, element_bytes: int, *, port: int = 0, line_bytes: int = 64, lines: int = 4
) -> StreamPrefetcherParameters:
    if port:
        raise ValueError(f"stream_prefetcher: port must be 0, not {port}; put it behind a concentrator")
    return StreamPrefetcherParameters(
        base, element_bytes, line_bytes, lines, element_bits=48, address_bits=64
    )


BLOCK = unit(
    "prefetch",
    StreamPrefetcher,
    StreamPrefetcherParameters,
    port_contents,
    design,
    arguments=("base", "element_bytes", "line_bytes", "lines"),
    status=status,
    base=StreamPrefetcherAdapter,
    arbiters=("elements",),  # a stop takes the place of an element
    retracts=("requests",),  # a stop withdraws the line that is offered
    fibers_of={"elements": "jobs"},
    counters={
        "lines": tokens("requests"),
        "fetched_bytes": StatusCounter(FETCHED),
        "used_bytes": StatusCounter(USED),
    },
    matching=_matching,
)
