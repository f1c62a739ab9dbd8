"""SIGMA's filter on bitmaps as RTL: the twins of ``Regor`` and ``PrefixPopcount``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, PrefixPopcount, depth, network
from fiberscope.hw.lanes.prefix_sum_rtl import added, with_offset
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field, Token
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, choice, number, one_of, payload_widths
from fiberscope.hw.rtl.kit.rows import LANES, Row, Rows
from fiberscope.hw.rtl.kit.trees import ones_of
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, resized, unless
from fiberscope.hw.rtl.kit.unit import Fields, Lanes, PortContents, Summed, elements, rows, unit
from fiberscope.hw.stream import ROW


@dataclass(frozen=True)
class RegorParameters(Parameters):
    """Parameters of a filter; widths in bits.

    Args:
        vectors: vectors a cycle, 1 to 64.
        words: words of a vector, 1 to 64; ``vectors`` times ``words`` is at most 64.
        width: bits of a word, 1 to 62.
        reference_bits: bits of a reference, 0 to 64; 0 omits references, which are then 0.
    """

    vectors: int = number(4, *LANES)
    words: int = number(4, *LANES)
    width: int = number(32, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(0, 0, 64)

    def __post_init__(self) -> None:
        """Check the parameters, and that the number of lanes is in its range."""
        super().__post_init__()
        check_range("regor", "vectors times words", self.lanes, *LANES)

    @property
    def lanes(self) -> int:
        """Return the number of words a cycle."""
        return self.vectors * self.words


def regor_contents(parameters: RegorParameters) -> PortContents:
    """Return the ports: rows of vectors, at the input and at the output."""
    word = {"control": 1, "coordinate": parameters.width} | payload_widths(parameters.reference_bits, 0)
    return dict.fromkeys(("bitmaps", "kept"), Lanes(word, parameters.lanes))


def regor(parameters: RegorParameters, streams: Streams) -> None:
    """Create the filter: a register with the OR of the columns of a slice, and a chain through a row.

    The vectors of a row are handled in order. A column is ORed into the value from the vector before it; a
    row is ANDed with that value and sent. The register takes the value after the last vector.
    """
    rows = Rows(streams, "bitmaps", "kept", 0)
    taken = alias("taken", rows.arriving())
    # The registers start at 0: no column has been seen, and the first vector begins a slice.
    filters: Signal = pyrtl.Register(1, "filters")  # high while the vector before is a row
    seen = [pyrtl.Register(parameters.width, f"seen_{word:02}") for word in range(parameters.words)]
    kept: Row = []
    known, filtered = list(seen), filters
    for first in range(0, len(rows.entering), parameters.words):
        vector = rows.entering[first : first + parameters.words]
        column = vector[0]["control"]
        # A column after a row starts a new slice, without the columns before. A row leaves the OR unchanged.
        known = [
            pyrtl.select(column, unless(filtered, before) | lane["coordinate"], before)
            for before, lane in zip(known, vector, strict=True)
        ]
        # The mask of a column contains the column itself; ``pass_out`` then sends columns as zeros.
        kept += [
            {**lane, "coordinate": lane["coordinate"] & mask}
            for lane, mask in zip(vector, known, strict=True)
        ]
        filtered = ~column
    filters.next <<= pyrtl.select(taken, filtered, filters)
    for register, behind in zip(seen, known, strict=True):
        register.next <<= pyrtl.select(taken, behind, register)
    rows.pass_out(kept)


def _ones(word: Token) -> int:
    """Return the number of ones in a word of a stationary row; 0 for a word of a column."""
    return word.coordinate.bit_count() if word.control == ROW else 0


@dataclass(frozen=True)
class PrefixPopcountParameters(Parameters):
    """Parameters of a running count of ones; widths in bits.

    Args:
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: words a cycle, 1 to 64.
        width: bits of a word, 1 to 62.
        sum_width: bits of a count, 1 to 62; counts are modulo 2**``sum_width``.
        value_bits: bits of a value: 0, 32 or 64; 0 omits values, which are then 0.
        registers: 1 for a register after each stage; 0 for none, so that the receiver has the only register.
    """

    form: str = choice(PARALLEL, FORMS)
    lanes: int = number(4, *LANES)
    width: int = number(32, 1, MAXIMUM_WIDTH)
    sum_width: int = number(32, 1, MAXIMUM_WIDTH)
    value_bits: int = one_of(0, 0, 32, 64)
    registers: int = number(1, 0, 1)


def popcount_contents(parameters: PrefixPopcountParameters) -> PortContents:
    """Return the ports: rows of words, and rows of counts, each with its word as reference."""
    value = payload_widths(0, parameters.value_bits)
    word = {"control": 1, "coordinate": parameters.width} | value
    count: Fields = {
        "control": 1,
        "coordinate": parameters.sum_width,
        "reference": Field("reference", parameters.width, "unsigned"),
        **value,
    }
    return {"words": Lanes(word, parameters.lanes), "counts": Lanes(count, parameters.lanes)}


def prefix_popcount(parameters: PrefixPopcountParameters, streams: Streams) -> None:
    """Create a stage that counts the ones of each word, followed by the stages of a prefix sum."""
    form, lanes, registers = parameters.form, parameters.lanes, parameters.registers
    rows = Rows(streams, "words", "counts", (1 + depth(form, lanes)) * registers)
    row: Row = [
        {
            **lane,
            "coordinate": resized(ones_of(lane["coordinate"]), parameters.sum_width),
            "reference": lane["coordinate"],
        }
        for lane in rows.entering
    ]
    # The first level is empty: it stands for the stage that counts ones. The last stage adds the offset.
    for stage, level in enumerate(((), *network(form, lanes))):
        row = added(row, level)
        row = rows.stage(stage, row) if registers else row
    (rows.leave if registers else rows.pass_out)(with_offset(rows, row))


REGOR = unit(
    "regor",
    Regor,
    RegorParameters,
    regor_contents,
    regor,
    arguments=("vectors", "words", "width"),
    as_made={"reference_bits": 64},
    counters={"rows": rows("bitmaps"), "ones": Summed("bitmaps", _ones), "kept": Summed("kept", _ones)},
    events=("rows",),
)


PREFIX_POPCOUNT = unit(
    "prefix_popcount",
    PrefixPopcount,
    PrefixPopcountParameters,
    popcount_contents,
    prefix_popcount,
    arguments=("form", "lanes", "width", "sum_width", "registers"),
    as_made={"value_bits": 64},
    status=lambda parameters: (PENDING,) * parameters.registers,
    counters={"rows": rows("words"), "words": elements("words")},
    fibers=True,
    through=("words", "counts"),
)
