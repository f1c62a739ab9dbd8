"""The divider as RTL: the twin of ``fiberscope.hw.lanes.divider.Divider``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.lanes.divider import Divider, depth
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import tokens_of
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of, payload_widths
from fiberscope.hw.rtl.kit.rows import LANES, Lane, Row, Rows
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, elements, rows, unit
from fiberscope.hw.stream import DATA


@dataclass(frozen=True)
class DividerParameters(Parameters):
    """Parameters of a divider; widths in bits.

    Args:
        lanes: divisions a cycle, 1 to 64.
        width: bits of dividend, divisor, quotient and remainder, 1 to 62.
        bits_per_stage: bits of the quotient that a stage computes, 1 to ``width``.
        value_bits: bits of a value: 0, 32 or 64; 0 omits values, which are then 0.
    """

    lanes: int = number(1, *LANES)
    width: int = number(32, 1, MAXIMUM_WIDTH)
    bits_per_stage: int = number(1, 1, MAXIMUM_WIDTH, lambda own: (1, own.width))
    value_bits: int = one_of(0, 0, 32, 64)


def port_contents(parameters: DividerParameters) -> PortContents:
    """Return the ports: rows of dividends, their divisors, and rows of results.

    The remainder is a reference, which is in two's complement, and therefore has one more bit, always 0.
    """
    width, lanes = parameters.width, parameters.lanes
    element = {"control": 1, "coordinate": width}
    value = payload_widths(0, parameters.value_bits)
    return {
        "dividends": Lanes(element | value, lanes),
        "divisors": {"coordinate": width},
        "results": Lanes(element | {"reference": width + 1} | value, lanes),
    }


def design(parameters: DividerParameters, streams: Streams) -> None:
    """Create a restoring divider: a subtractor for each bit of a quotient, ``bits_per_stage`` in a stage.

    The coordinate of a lane has the remaining bits of the dividend above the computed bits of the quotient.
    The divisor accompanies each row through the stages, so that arrays can follow each other without a gap. A
    divisor of 0 can always be subtracted: the quotient is all ones, and the remainder is the dividend.
    """
    stages = depth(parameters.width, parameters.bits_per_stage)
    rows, divisor = constant_of(streams, "divisors", "dividends", "results", stages)
    row: Row = [{**lane, "reference": pyrtl.Const(0, parameters.width)} for lane in rows.entering]
    *first_stages, last_stage = _bits_by_stage(parameters)
    for stage, bits in enumerate(first_stages):
        row = rows.stage(stage, _found(row, divisor, bits, f"stage{stage:02}"))
        divisor = rows.register(f"stage{stage:02}_divisor", divisor)
    rows.leave([_unsigned(lane) for lane in _found(row, divisor, last_stage, "last")])


def constant_of(
    streams: Streams, constants: str, inputs: str, outputs: str, stages: int
) -> tuple[Rows, Signal]:
    """Create a pipeline of rows in which each array has a constant.

    A constant is taken with the first row of its array, and held until the array ends.

    Args:
        streams: the streams of the module.
        constants: label of the stream of constants.
        inputs, outputs: labels of the bundles.
        stages: number of register stages, at least 1.

    Returns:
        The pipeline, and the constant of the row at the inputs.
    """
    source = streams.inputs[constants]
    within: Signal = pyrtl.Register(1, "in_array")
    name = constants.removesuffix("s")
    held: Signal = DataRegister(len(source.fields["coordinate"]), f"{name}_held")
    # The first row of an array waits until a constant is visible; further rows use the constant held.
    rows = Rows(streams, inputs, outputs, stages, alias("loaded", within | source.valid))
    source.accept(rows.taken & ~within)
    constant = alias(name, pyrtl.select(within, held, source.fields["coordinate"]))
    # An array ends with a stop in the last lane of a row.
    within.next <<= pyrtl.select(rows.taken, ~rows.entering[-1]["control"], within)
    held.next <<= pyrtl.select(rows.taken, constant, held)
    return rows, constant


def _bits_by_stage(parameters: DividerParameters) -> list[int]:
    """Return the number of quotient bits that each stage computes; the last stage may have fewer."""
    step = parameters.bits_per_stage
    return [min(step, parameters.width - bits_done) for bits_done in range(0, parameters.width, step)]


def _found(row: Row, divisor: Signal, bits: int, stage: str) -> Row:
    """Return the row after ``bits`` more bits of its quotients are computed; ``stage`` names the wires."""
    for bit in range(bits):
        row = [_one_bit(lane, divisor, f"{stage}_lane{i:02}_bit{bit:02}") for i, lane in enumerate(row)]
    return row


def _one_bit(lane: Lane, divisor: Signal, name: str) -> Lane:
    """Return a lane after one step: append the next dividend bit to the remainder, and subtract the divisor.

    If the divisor is larger, the step keeps the remainder, and the bit of the quotient is 0. The bit above
    the ``width`` bits of the difference is the borrow of the subtraction. It has no other source: the new
    remainder is below the divisor, or with a divisor of 0 consists of the dividend bits so far.
    """
    width = len(divisor)
    before = alias(f"{name}_before", pyrtl.concat(lane["reference"], lane["coordinate"][-1]))
    after = alias(f"{name}_after", (before - divisor)[: width + 1])
    borrow = alias(f"{name}_borrow", after[-1])
    remainder = pyrtl.select(borrow, before[:width], after[:width])
    # The used bit of the dividend leaves at the top, the new bit of the quotient enters at the bottom.
    return {**lane, "coordinate": pyrtl.concat(lane["coordinate"], ~borrow)[:width], "reference": remainder}


def _unsigned(lane: Lane) -> Lane:
    """Return the lane with a zero above its remainder, the sign bit of a reference."""
    return {**lane, "reference": pyrtl.concat(pyrtl.Const(0, 1), lane["reference"])}


class DividerAdapter(Adapter):
    """The adapter for a ``Divider``, which counts the divisions by zero."""

    _divisor = 0
    _by_zero = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Record the divisor of the array, and count the divisions by zero of a row; see ``Adapter``."""
        # A divisor moves with the first row of its array, so that it is recorded before this row is counted.
        for divisor in tokens_of(moved.get("divisors", ())):
            self._divisor = divisor.coordinate
        if self._divisor == 0:
            row = tokens_of(moved.get("dividends", ()))
            self._by_zero += sum(token.control == DATA for token in row)

    def counters(self) -> dict[str, int]:
        """Return the number of divisions by zero."""
        return {"by_zero": self._by_zero}


BLOCK = unit(
    "divider",
    Divider,
    DividerParameters,
    port_contents,
    design,
    arguments=("lanes", "width", "bits_per_stage"),
    as_made={"value_bits": 64},
    status=(PENDING,),
    base=DividerAdapter,
    counters={"rows": rows("dividends"), "divide": elements("dividends")},
    events=("divide",),
    fibers=True,
    through=("dividends", "results"),
)
