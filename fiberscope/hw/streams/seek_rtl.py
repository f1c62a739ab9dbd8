"""RTL of lookups: ``Projection`` and ``Seek`` of ``fiberscope.hw.streams.seek``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field, Token
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, number
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, index_bits, resized
from fiberscope.hw.rtl.kit.unit import Each, PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.dense_rtl import times
from fiberscope.hw.streams.memory_rtl import LOAD, Memory
from fiberscope.hw.streams.seek import Projection, Seek
from fiberscope.hw.streams.stream_adapter_rtl import LOAD_PORT, StreamAdapter
from fiberscope.hw.streams.tokens import DATA, EMPTY
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim import Input, Output
from fiberscope.sim.protocol import ANY

TERMS = 3  # largest number of inputs of a projection
MAX_FACTOR = 1 << 16  # largest absolute value of a number of a projection
TERM_FIELDS = "factor", "divisor", "size"  # names of the numbers of a term
ENTRIES = 1 << 14  # largest number of words in the memory of a lookup
MAX_ALONG = 6  # largest number of further streams, which are filtered with the lookups


@dataclass(frozen=True)
class ProjectionParameters(Parameters):
    """Parameters of a projection, which adds ``factor * (coordinate // divisor % size)`` of its inputs.

    Args:
        ways: number of inputs, 1 to 3.
        factor0, factor1, factor2: factor of each input, -65536 to 65536.
        divisor0, divisor1, divisor2: divisor of each input, 1 to 65536.
        size0, size1, size2: modulus of each input, 0 to 65536; 0 for no remainder.
        constant: number that is added to the sum, -65536 to 65536.
        coordinate_bits: width of a coordinate, 4 to 55; the sender must avoid sums that do not fit.
    """

    ways: int = number(2, 1, TERMS)
    factor0: int = number(1, -MAX_FACTOR, MAX_FACTOR)
    divisor0: int = number(1, 1, MAX_FACTOR)
    size0: int = number(0, 0, MAX_FACTOR)
    factor1: int = number(1, -MAX_FACTOR, MAX_FACTOR)
    divisor1: int = number(1, 1, MAX_FACTOR)
    size1: int = number(0, 0, MAX_FACTOR)
    factor2: int = number(1, -MAX_FACTOR, MAX_FACTOR)
    divisor2: int = number(1, 1, MAX_FACTOR)
    size2: int = number(0, 0, MAX_FACTOR)
    constant: int = number(0, -MAX_FACTOR, MAX_FACTOR)
    coordinate_bits: int = number(
        32, tokens.LEVEL_BITS, 55, lambda own: (max(0, own.constant).bit_length(), 55)
    )

    @property
    def terms(self) -> list[tuple[int, int, int]]:
        """The factor, the divisor and the size of each input, in the order of the inputs."""
        terms = ([getattr(self, f"{name}{way}") for name in TERM_FIELDS] for way in range(self.ways))
        return [(factor, divisor, size) for factor, divisor, size in terms]


def projection_contents(parameters: ProjectionParameters) -> PortContents:
    """Return the contents of the streams: coordinates of each input and of the output."""
    coordinates = tokens.numbers(parameters.coordinate_bits)
    return {"in_crd": Each(coordinates, parameters.ways), "out_crd": coordinates}


def projection_design(parameters: ProjectionParameters, streams: Streams) -> None:
    """Build a projection: dividers by constants and adders, without registers.

    The module does not check that the inputs have the same shape.
    """
    heads = [Head.from_stream(stream) for stream in streams.inputs.values()]
    first, bits = heads[0], parameters.coordinate_bits
    acts = alias("acts", tokens.room_in(streams) & reduce(and_, [head.shown for head in heads]))
    for stream in streams.inputs.values():
        stream.accept(acts)
    added, taken = (_sum(parameters, heads, sign) for sign in (1, -1))
    total = added - taken
    # The top bit of the difference is its sign: a negative sum leaves as N, the kind without a flag
    data = reduce(and_, [head.is_data for head in heads]) & ~total[-1]
    kind = tokens.kind_of(data, first.is_stop, first.is_done)
    tokens.send(streams.outputs["out_crd[0]"], acts, kind, first.level, resized(total[:-1], bits))


def _sum(parameters: ProjectionParameters, heads: Sequence[Head], sign: int) -> Signal:
    """Return the sum of all terms with factors of this sign, and of the constant if it has this sign."""
    total: Signal = pyrtl.Const(max(0, sign * parameters.constant))
    for head, (factor, divisor, size) in zip(heads, parameters.terms, strict=True):
        if sign * factor > 0:
            part, _rest = divided(head.payload, divisor)
            part = divided(part, size)[1] if size else part
            # ``times`` keeps the width of its operand, which therefore gets the bits of the factor first
            total = total + times(part.zero_extended(len(part) + factor.bit_length()), sign * factor)
    return total


def divided(dividend: Signal, divisor: int) -> tuple[Signal, Signal]:
    """Return the quotient and the remainder of a division by a constant.

    For a power of two, these are wires; otherwise a chain of subtractors. A remainder is less than the
    divisor, so the width of a subtractor depends on the divisor, not on the dividend.
    """
    width = (divisor - 1).bit_length()
    if width >= len(dividend) + 1:
        # The divisor is larger than every dividend of this width
        return pyrtl.Const(0, 1), dividend
    if divisor == 1 << width:
        quotient = dividend[width:] if width < len(dividend) else pyrtl.Const(0, 1)
        return quotient, dividend[:width] if width else pyrtl.Const(0, 1)
    # Restoring division from the highest bit on: append a bit, then subtract the divisor if it fits
    rest: Signal = pyrtl.Const(0, width)
    quotient_bits = []
    for bit in dividend[::-1]:
        before = pyrtl.concat(rest, bit)
        fits = before >= divisor
        rest = pyrtl.select(fits, before - divisor, before)[:width]
        quotient_bits.append(fits)
    return pyrtl.concat(*quotient_bits), rest


def _of_projection(projection: Projection) -> dict[str, object]:
    numbers = list(projection.terms)
    ways = len(numbers) // len(TERM_FIELDS)
    if ways > TERMS:
        raise ValueError(f"no hardware here adds parts of {ways} coordinates, but of {TERMS} at most")
    names = [f"{name}{way}" for way in range(ways) for name in TERM_FIELDS]
    named_numbers: dict[str, object] = dict(zip(names, numbers, strict=True))
    return {"ways": ways, **named_numbers, "constant": projection.constant}


PROJECTION = unit(
    "projection",
    Projection,
    ProjectionParameters,
    projection_contents,
    projection_design,
    base=StreamAdapter,
    component=lambda name, parameters: Projection(name, parameters.terms, parameters.constant),
    instance=_of_projection,
)


@dataclass(frozen=True)
class SeekParameters(Parameters):
    """Parameters of a lookup, whose memory has a word for each possible coordinate of each fiber.

    Args:
        fibers: number of fibers of the level, 1 to 16384.
        size: number of possible coordinates of a fiber, 1 to 16384; ``fibers * size`` is at most 16384.
        elements: number of elements of all fibers, 1 to 16384.
        along: number of further streams, which are filtered with the lookups, 0 to 6.
        coordinate_bits: width of a coordinate, 4 to 55.
        reference_bits: width of a reference; the position of an element and the number of a fiber must fit.
    """

    fibers: int = number(16, 1, ENTRIES)
    size: int = number(64, 1, ENTRIES)
    elements: int = number(512, 1, ENTRIES)
    along: int = number(1, 0, MAX_ALONG)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(
        32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(max(own.fibers, own.elements)), 62)
    )

    def __post_init__(self) -> None:
        """Raise an error if the memory is too large."""
        super().__post_init__()
        check_range("seek", "fibers times size", self.entries, 1, ENTRIES)

    @property
    def entries(self) -> int:
        """Number of words of the memory."""
        return self.fibers * self.size


def seek_contents(parameters: SeekParameters) -> PortContents:
    """Return the contents of the streams; ``load`` writes, per coordinate, its presence and position."""
    references = tokens.numbers(parameters.reference_bits)
    wider = tokens.numbers(max(parameters.coordinate_bits, parameters.reference_bits))
    words: Content = {
        "control": 1,
        "address": Field("coordinate", index_bits(parameters.entries), "unsigned"),
        "word": Field("reference", index_bits(parameters.elements), "unsigned"),
    }
    places = range(parameters.along)
    return {
        "in_crd": tokens.numbers(parameters.coordinate_bits),
        "in_base": references,
        **{f"in_carried{place}": tokens.source(f"in_carried{place}", wider) for place in places},
        LOAD: words,
        "out_located": references,
        **{f"out_carried{place}": tokens.sink(f"out_carried{place}", wider) for place in places},
    }


def seek_design(parameters: SeekParameters, streams: Streams) -> None:
    """Build a lookup: a memory that is addressed by fiber and coordinate, without registers.

    The module does not check the shape of the streams, nor that a fiber is below ``fibers``.
    """
    inputs = [stream for label, stream in streams.inputs.items() if label != LOAD]
    crd, base, *along = heads = [Head.from_stream(stream) for stream in inputs]
    acts = alias("acts", tokens.room_in(streams) & reduce(and_, [head.shown for head in heads]))
    for stream in inputs:
        stream.accept(acts)
    load = streams.inputs[LOAD]
    load.accept(pyrtl.Const(1, 1))
    # A word has the presence in its top bit, and the position of the element below it
    words = Memory("words", parameters.entries, 1 + index_bits(parameters.elements))
    place, word = load.fields["address"], pyrtl.concat(load.fields["control"], load.fields["word"])
    words.write(place, word, load.valid)
    bits = index_bits(parameters.entries)
    address = (times(resized(base.payload, bits), parameters.size) + resized(crd.payload, bits))[:bits]
    located = words[address]
    # A coordinate from ``size`` on would address a word of another fiber
    in_fiber = alias("in_fiber", crd.payload < pyrtl.Const(parameters.size))
    hits = alias("hits", crd.is_data & base.is_data & in_fiber & located[-1])
    sends = alias("sends", acts & (hits | crd.is_control))
    kind = tokens.kind_of(hits, crd.is_stop, crd.is_done)
    # A miss sends nothing, so that a token on ``out_located`` is a hit, a stop or done
    position = resized(located[:-1], parameters.reference_bits)
    tokens.send(streams.outputs["out_located[0]"], sends, kind, crd.level, position)
    for number_along, head in enumerate(along):
        tokens.pass_on(streams.outputs[f"out_carried{number_along}[0]"], sends, head)


class SeekAdapter(StreamAdapter):
    """Component that replaces a ``Seek``, whose ports depend on ``along``, by its RTL in a simulation."""

    PORTS = (Input("in_crd", ANY), Input("in_base", ANY), LOAD_PORT, Output("out_located", ANY, array=True))

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        lookups = self.moved["in_crd", DATA] + self.moved["in_crd", EMPTY]
        hits = self.moved["out_located[0]", DATA]
        return {"hits": hits, "misses": lookups - hits} | super().counters()


def words_of(seek: Seek) -> list[Token]:
    """Return the tokens on ``load`` that fill the memory of the RTL of a lookup.

    The parameter ``size`` of the RTL must be the largest coordinate that occurs, plus 1. All words are
    written, also of absent coordinates, as the memory has no reset.
    """
    level, size = seek.level, _size_of(seek)
    words = [(0, 0)] * (level.fibers * size)
    for fiber in range(level.fibers):
        for position in range(level.begin(fiber), level.end(fiber)):
            words[fiber * size + level.coordinate(position)] = 1, position
    return [Token(present, address, position, 0.0) for address, (present, position) in enumerate(words)]


def _size_of(seek: Seek) -> int:
    """Return the number of possible coordinates of a fiber: the largest coordinate that occurs, plus 1."""
    return max(map(seek.level.coordinate, range(seek.level.begin(seek.level.fibers))), default=0) + 1


def _of_seek(seek: Seek) -> dict[str, object]:
    level = seek.level
    return {
        "fibers": max(1, level.fibers),
        "size": _size_of(seek),
        "elements": max(1, level.begin(level.fibers)),
        # ``in_crd``, ``in_base`` and ``out_located`` are three ports; each stream along has two
        "along": len(seek.ports) // 2 - 1,
    }


SEEK = unit(
    "seek", Seek, SeekParameters, seek_contents, seek_design, base=SeekAdapter, alone=False, instance=_of_seek
)
