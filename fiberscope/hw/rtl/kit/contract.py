"""The contract of a module's ports, as comments at the head of its Verilog."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from textwrap import wrap

from fiberscope.hw.rtl.kit.interface import MASK, Bundle, Interface, Stream

WIDTH = 107  # characters of a line after its slashes
_CLOCKING = (
    "Contract of the ports. All are sampled at the rising edge of clk; rst is synchronous and active high.",
    "A token moves in a cycle in which valid and ready of its stream are both high. The tokens of a stream",
    "keep their order; tokens of different streams have no order, unless a line below says so.",
)
_INPUT = "ready of an input may depend on valid in the same cycle: set valid without waiting for ready."
_PLAIN = (
    "valid and fields of an output may depend on ready, and may change until the token is taken: ready must",
    "not wait for valid. Of several tokens of a cycle none may be sent until all are ready.",
)
_REGISTERED = "valid of an output stays high, and its fields stay the same, until the token is taken."


def contract(interface: Interface, *, registered: bool) -> str:
    """Return comment lines of Verilog with the rules of each stream of a module.

    Args:
        interface: the ports.
        registered: whether outputs are registered, that is, independent of ``ready`` and stable until they
            are taken.
    """
    rules = (*_CLOCKING, _INPUT, *((_REGISTERED,) if registered else _PLAIN))
    # The streams of a port are consecutive in an interface, as ``groupby`` requires.
    alike = groupby(interface.streams, key=lambda stream: (stream.port[0], stream.direction))
    lines = [line for _port, group in alike for line in _of_port([*group])]
    return "".join(f"// {part}\n" for line in (*rules, *lines) for part in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    """Wrap a line; further lines are indented by two more columns."""
    indent = " " * (len(line) - len(line.lstrip()))
    return wrap(line.strip(), WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _of_port(streams: list[Stream]) -> Iterator[str]:
    """Yield the lines on one port of the component.

    Args:
        streams: all streams of the port: of each member of an array, and of each lane of a member.
    """
    places = [[*lanes] for _place, lanes in groupby(streams, key=lambda stream: stream.port)]
    first = places[0]  # the members of an array are alike: the first one stands for all
    prefixes = [stream.prefix for stream in first]
    if len(places) > 1:
        names = f"{' and '.join(prefixes)} to {' and '.join(stream.prefix for stream in places[-1])}"
        count = f" {len(places)} streams that move independently,"
    else:
        names, count = " and ".join(prefixes), ""
    fields = ", ".join(_fields(first[0])) or "no fields"
    yield f"  {names} ({first[0].direction}):{count} {fields}"
    if isinstance(first[0], Bundle):
        lanes = f"{first[0].lanes} lanes" if first[0].lanes > 1 else "1 lane"
        masked = f"; a lane whose bit of {MASK} is 0 is empty" if first[0].mask else ""
        yield f"    {lanes} of a row, which move together; lane 0 has the lowest bits of each field{masked}"
    if len(first) > 1:
        lanes, streams_not = f"{len(first)} lanes of one stream", f"not {len(first)} streams"
        yield f"    {lanes}, {streams_not}: the tokens of a cycle, in this order"
        spaces = ", ".join(f"{stream.wire('ready')} for {stream.lane + 1}" for stream in first)
        yield f"    ready means that the receiver has space for so many tokens: {spaces}"
        ready = (stream.wire("ready") for stream in first)
        bounds = ", ".join(f"{lane} only if {before}" for before, lane in pairwise(ready))
        yield f"    a lane is ready only if the lane before it is: {bounds}"


def _fields(stream: Stream) -> Iterator[str]:
    """Yield name, kind and bits of each field."""
    for name, width in stream.widths.items():
        kind = stream.fields[name].kind if name in stream.fields else "mask" if name == MASK else "payload"
        yield f"{name} {kind} {width}"
