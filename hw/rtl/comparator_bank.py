"""The comparator bank as RTL: the twin of ``hw.comparator_bank.ComparatorBank``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from hw.comparator_bank import NONZERO, TESTS, ComparatorBank
from hw.rtl.items import ItemParameters
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import Backend
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import MASK, Bundle, Interface, tokens_of
from hw.rtl.kit.parameters import choice, number
from hw.rtl.kit.rows import LANES, Lane, Row
from hw.rtl.kit.twin import DataRegister, Signal, Streams, blank_if_stop, named
from hw.stream import DATA


@dataclass(frozen=True)
class ComparatorBankParameters(ItemParameters):
    """What a comparator bank is made for: an item, ``lanes``, and the ``test``.

    Raises:
        ValueError: for what cannot be built, as a test of values without any.
    """

    lanes: int = number(16, *LANES)
    test: str = choice(NONZERO, TESTS)

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        super().__post_init__()
        if self.test == NONZERO and not self.word_bits:
            raise ValueError("comparator_bank: a test for zero needs values; word_bits must not be 0")


def interface(parameters: ComparatorBankParameters) -> Interface:
    """Ports: ``lanes``, ``flags`` and ``kept``, rows with a mask."""
    item, lanes = parameters.item(), parameters.lanes
    return Interface(
        "comparator_bank",
        (
            Bundle("lanes", "lanes", "input", item, lanes, mask=True),
            Bundle("flags", "flags", "output", parameters.item(coordinate=1), lanes, mask=True),
            Bundle("kept", "kept", "output", item, lanes, mask=True),
        ),
    )


def design(parameters: ComparatorBankParameters, between: Streams) -> None:
    """A comparator a lane; for changes also a register, with the coordinate of the last item of a row."""
    source, flags, kept = between.inputs["lanes"], between.outputs["flags"], between.outputs["kept"]
    moves = named("row_moves", source.valid & flags.ready & kept.ready)
    source.accept(moves)
    row: Row = list(source.lanes)
    held = _nonzero(row) if parameters.test == NONZERO else _changed(row, moves)
    held = [named(f"held_{i:02}", test) for i, test in enumerate(held)]
    pairs = list(zip(row, held, strict=True))
    flags.send_lanes(moves, [_sent(lane, lane[MASK], coordinate=test) for lane, test in pairs])
    kept.send_lanes(moves, [_sent(lane, lane[MASK] & (test | lane["control"])) for lane, test in pairs])


def _sent(lane: Lane, mask: Signal, **changed: Signal) -> Lane:
    """What leaves of a lane: with this mask, and other fields."""
    return {**blank_if_stop({**lane, **changed}), MASK: mask}


def _nonzero(row: Row) -> list[Signal]:
    return [lane["value"] != 0 for lane in row]


def _changed(row: Row, moves: Signal) -> list[Signal]:
    """Whether each coordinate is that of an array's first item, or another than that of the item before."""
    known: Signal = pyrtl.Register(1, "known")  # whether the array has had an item,
    before: Signal = DataRegister(len(row[0]["coordinate"]), "coordinate_before")  # and its coordinate
    any_before, last = known, before
    changed = []
    for lane in row:
        is_item = lane[MASK] & ~lane["control"]
        changed.append(~any_before | (lane["coordinate"] != last))
        any_before = (any_before | is_item) & ~(lane[MASK] & lane["control"])
        last = pyrtl.select(is_item, lane["coordinate"], last)
    known.next <<= pyrtl.select(moves, any_before, known)
    before.next <<= pyrtl.select(moves, last, before)
    return changed


class ComparatorBankStandIn(Adapter):
    """Stands in for a ``ComparatorBank``; the module's ports are those of ``hw.rtl.comparator_bank``."""

    PORTS = ComparatorBank.PORTS
    EVENTS = ("compares",)
    FIBERS = True
    TOGETHER = ("flags", "kept")
    OBSERVED = ("kept",)

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._held = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the items that are kept."""
        self._held += sum(token.control == DATA for token in tokens_of(moved["kept"]))

    def counters(self) -> dict[str, int]:
        """Comparisons, and those in which the test held."""
        return {"compares": self.end("lanes").elements, "held": self._held}


def _matching(lanes: int, test: str) -> ComparatorBankParameters:
    return ComparatorBankParameters(62, reference_bits=64, word_bits=53, lanes=lanes, test=test)


BLOCK = RtlBlock(
    "comparator_bank",
    "tests the items of an array, a row a cycle: whether they are no zeros, or others than before",
    ComparatorBankParameters,
    _matching,
    interface,
    design,
    ComparatorBankStandIn,
    lambda name, parameters: ComparatorBank(name, parameters.lanes, parameters.test),
)
