"""The comparator bank as RTL: the twin of ``fiberscope.hw.lanes.comparator_bank.ComparatorBank``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.lanes.comparator_bank import NONZERO, TESTS, ComparatorBank
from fiberscope.hw.lanes.items_rtl import AS_MADE, ItemParameters
from fiberscope.hw.rtl.kit.interface import MASK
from fiberscope.hw.rtl.kit.parameters import choice, number
from fiberscope.hw.rtl.kit.rows import LANES, Lane, Row
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, blank_if_stop
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, elements, unit


@dataclass(frozen=True)
class ComparatorBankParameters(ItemParameters):
    """Parameters of a comparator bank.

    Args:
        width, reference_bits, word_bits: see ``ItemParameters``.
        lanes: items a cycle, 1 to 64.
        test: ``"nonzero"`` or ``"changed"``, see ``ComparatorBank``.

    Raises:
        ValueError: a value is out of its range, or the test is for nonzero values and there are no values.
    """

    lanes: int = number(16, *LANES)
    test: str = choice(NONZERO, TESTS)

    def __post_init__(self) -> None:
        """Check the parameters, and that the items have what the test needs."""
        super().__post_init__()
        if self.test == NONZERO and not self.word_bits:
            raise ValueError("comparator_bank: a test for zero needs values; word_bits must not be 0")


def port_contents(parameters: ComparatorBankParameters) -> PortContents:
    """Return the ports: rows with a mask; a flag has a coordinate of one bit."""
    item, lanes = parameters.item(), parameters.lanes
    return {
        "lanes": Lanes(item, lanes, mask=True),
        "flags": Lanes(parameters.item(coordinate=1), lanes, mask=True),
        "kept": Lanes(item, lanes, mask=True),
    }


def design(parameters: ComparatorBankParameters, streams: Streams) -> None:
    """Create a comparator for each lane.

    The test ``changed`` also has a register with the coordinate of the last item, for the next row.
    """
    source, flags, kept = streams.inputs["lanes"], streams.outputs["flags"], streams.outputs["kept"]
    # A row leaves on both outputs in the same cycle: each waits for ``ready`` of the other
    moves = alias("row_moves", source.valid & flags.ready & kept.ready)
    source.accept(moves)
    row: Row = list(source.lanes)
    held = _nonzero(row) if parameters.test == NONZERO else _changed(row, moves)
    held = [alias(f"held_{i:02}", test) for i, test in enumerate(held)]
    pairs = list(zip(row, held, strict=True))
    flags.send_lanes(moves, [_sent(lane, lane[MASK], coordinate=test) for lane, test in pairs])
    kept.send_lanes(moves, [_sent(lane, lane[MASK] & (test | lane["control"])) for lane, test in pairs])


def _sent(lane: Lane, mask: Signal, **changed: Signal) -> Lane:
    """Return the fields of a lane, with this mask and these changed fields, and zeros in a stop."""
    return {**blank_if_stop({**lane, **changed}), MASK: mask}


def _nonzero(row: Row) -> list[Signal]:
    """Return whether the value of each lane is not 0."""
    return [lane["value"] != 0 for lane in row]


def _changed(row: Row, moves: Signal) -> list[Signal]:
    """Return whether the coordinate of each lane is the first of its array, or differs from the item before.

    Args:
        moves: whether the row is taken in this cycle.
    """
    has_item: Signal = pyrtl.Register(1, "known")  # whether the array has had an item in an earlier row
    before: Signal = DataRegister(len(row[0]["coordinate"]), "coordinate_before")  # of that item
    any_before, last = has_item, before
    changed = []
    for lane in row:
        is_item = lane[MASK] & ~lane["control"]
        changed.append(~any_before | (lane["coordinate"] != last))
        any_before = (any_before | is_item) & ~(lane[MASK] & lane["control"])
        last = pyrtl.select(is_item, lane["coordinate"], last)
    has_item.next <<= pyrtl.select(moves, any_before, has_item)
    before.next <<= pyrtl.select(moves, last, before)
    return changed


BLOCK = unit(
    "comparator_bank",
    ComparatorBank,
    ComparatorBankParameters,
    port_contents,
    design,
    arguments=("lanes", "test"),
    as_made=AS_MADE,
    counters={"compares": elements("lanes"), "held": elements("kept")},
    events=("compares",),
    fibers=True,
    together=("flags", "kept"),
)
