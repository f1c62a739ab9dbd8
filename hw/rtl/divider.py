"""The divider as RTL: the twin of ``hw.divider.Divider``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyrtl

from hw.divider import MAXIMUM_WIDTH, Divider, depth
from hw.rtl.backend import Backend
from hw.rtl.block import RtlBlock
from hw.rtl.interface import Interface, Stream, Token
from hw.rtl.parameters import Parameters, check_range, check_value_bits, payload_widths
from hw.rtl.pipeline import PipelineStandIn, Stages
from hw.rtl.twin import Signal, Streams, named
from hw.stream import DATA
from sim.channel import Channel


@dataclass(frozen=True)
class DividerParameters(Parameters):
    """What a divider is made for; widths in bits.

    Args:
        width: of dividend, divisor, quotient and remainder, 1 to 62, as in the component.
        bits_per_stage: of the quotient that a stage finds, 1 to ``width``.
        value_bits: 0, 32 or 64; 0 leaves values out, where all are 0.

    Raises:
        ValueError: for a number out of its range.
    """

    width: int = 32
    bits_per_stage: int = 1
    value_bits: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_range("divider", "width", self.width, 1, MAXIMUM_WIDTH)
        check_range("divider", "bits_per_stage", self.bits_per_stage, 1, self.width)
        check_value_bits("divider", self.value_bits, optional=True)


def interface(parameters: DividerParameters) -> Interface:
    """Ports: ``divisors``, ``dividends`` and ``results``.

    The remainder, as a reference is in two's complement, has one bit more than the width, which is always 0.
    """
    width = parameters.width
    element = {"control": 1, "coordinate": width}
    value = payload_widths(0, parameters.value_bits)
    return Interface(
        "divider",
        (
            Stream("divisors", "divisors", "input", {"coordinate": width}),
            Stream("dividends", "dividends", "input", element | value),
            Stream(
                "results", "results", "output", element | payload_widths(width + 1, parameters.value_bits)
            ),
        ),
    )


@dataclass(frozen=True)
class _Division:
    """A division in some stage: ``bits`` holds the bits of the dividend that are left, then those found."""

    stop: Signal
    divisor: Signal
    bits: Signal
    remainder: Signal
    value: Mapping[str, Signal]


def design(parameters: DividerParameters, between: Streams) -> None:
    """Restoring division: a subtractor for each bit of the quotient, ``bits_per_stage`` of them in a stage.

    Each division has its divisor with it, so that fibers follow one another. A divisor of 0 can always be
    subtracted: the quotient is all ones, and the remainder the dividend.
    """
    divisors, dividends = between.inputs["divisors"], between.inputs["dividends"]
    results = between.outputs["results"]
    in_fiber: Signal = pyrtl.Register(1, "in_fiber")
    held: Signal = pyrtl.Register(parameters.width, "divisor_held")
    loaded = named("loaded", in_fiber | divisors.valid)
    shown = named("shown", dividends.valid & loaded)
    stages = Stages(depth(parameters.width, parameters.bits_per_stage), shown, results.ready)
    taken = named("taken", shown & stages.move)
    dividends.accept(stages.move & loaded)
    divisors.accept(taken & ~in_fiber)
    stop = dividends.fields["control"]
    divisor = named("divisor", pyrtl.select(in_fiber, held, divisors.fields["coordinate"]))
    in_fiber.next <<= pyrtl.select(taken, ~stop, in_fiber)
    held.next <<= pyrtl.select(taken, divisor, held)

    value = {name: wire for name, wire in dividends.fields.items() if name == "value"}
    division = _Division(stop, divisor, dividends.fields["coordinate"], _zero(divisor), value)
    *first_stages, last_stage = _bits_by_stage(parameters)
    for number, bits in enumerate(first_stages):
        division = _staged(stages, f"stage{number:02}", _found(division, bits, f"stage{number:02}"))
    results.send(stages.last, _result(stages, _found(division, last_stage, "last")))


def _bits_by_stage(parameters: DividerParameters) -> list[int]:
    """Bits of the quotient that each stage finds; the last has what is left."""
    step = parameters.bits_per_stage
    return [min(step, parameters.width - found) for found in range(0, parameters.width, step)]


def _found(division: _Division, bits: int, stage: str) -> _Division:
    """The division with so many more bits of the quotient found."""
    for number in range(bits):
        division = _one_bit(division, f"{stage}_bit{number:02}")
    return division


def _one_bit(division: _Division, name: str) -> _Division:
    """One subtractor: the remainder and the next bit of the dividend, less the divisor if it is no more.

    What is left is less than the divisor, so of ``width`` bits, and the bit above them is the borrow.
    """
    width = len(division.bits)
    before = named(f"{name}_before", pyrtl.concat(division.remainder, division.bits[-1]))
    after = named(f"{name}_after", (before - division.divisor)[: width + 1])
    borrow = named(f"{name}_borrow", after[-1])
    remainder = pyrtl.select(borrow, before[:width], after[:width])
    bits = pyrtl.concat(division.bits, ~borrow)[:width]
    return replace(division, bits=bits, remainder=remainder)


def _staged(stages: Stages, name: str, division: _Division) -> _Division:
    """The division behind the registers of a stage."""
    return _Division(
        stages.register(f"{name}_stop", division.stop),
        stages.register(f"{name}_divisor", division.divisor),
        stages.register(f"{name}_bits", division.bits),
        stages.register(f"{name}_remainder", division.remainder),
        {kind: stages.register(f"{name}_{kind}", wire) for kind, wire in division.value.items()},
    )


def _result(stages: Stages, division: _Division) -> dict[str, Signal]:
    """The fields of a result, behind the registers of the last stage; a stop has zeros."""
    fields = {"coordinate": division.bits, "reference": division.remainder, **division.value}
    held = {
        name: stages.register(f"last_{name}", _unless(division.stop, wire)) for name, wire in fields.items()
    }
    held["reference"] = pyrtl.concat(pyrtl.Const(0, 1), held["reference"])
    return {"control": stages.register("last_control", division.stop)} | held


def _unless(stop: Signal, wire: Signal) -> Signal:
    return pyrtl.select(stop, _zero(wire), wire)


def _zero(like: Signal) -> Signal:
    return pyrtl.Const(0, len(like))


class DividerStandIn(PipelineStandIn):
    """Stands in for a ``Divider``; the module's ports are those of ``hw.rtl.divider``."""

    PORTS = Divider.PORTS

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._within = False  # a fiber
        self._divisor = 0
        self._divisions = self._by_zero = 0

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Count what is in the pipeline, and the divisions."""
        if "divisors" in moved:
            self._divisor = moved["divisors"].coordinate
        if "dividends" in moved:
            self.in_flight += 1
            self._within = moved["dividends"].control == DATA
            self._divisions += self._within
            self._by_zero += self._within and self._divisor == 0
        if "results" in moved:
            self.in_flight -= 1

    def missing(self) -> Channel | None:
        """The dividend within a fiber or where a divisor is there; the divisor where a dividend is."""
        if self._within or self.channel("divisors").can_pop():
            return self.channel("dividends")
        return self.channel("divisors") if self.channel("dividends").can_pop() else None

    def counters(self) -> dict[str, int]:
        """Divisions begun, and those of them by zero."""
        return {"divide": self._divisions, "by_zero": self._by_zero}


BLOCK = RtlBlock(
    "divider",
    "quotient and remainder of unsigned integers, one division a cycle, bits_per_stage bits a stage",
    DividerParameters,
    lambda width=32, bits_per_stage=1: DividerParameters(width, bits_per_stage, value_bits=64),
    interface,
    design,
    DividerStandIn,
)
