"""SAGE's parameters; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.configuration import BytesPerSecond, Configuration, Hertz, layers, validate
from fiberscope.workloads.formats import FORMATS, Format, Rlc, check_width

CONFIGURATION = Path(__file__).parent / "config.yaml"

Energy = float


class Array(Configuration):
    """The weight-stationary array."""

    elements: int = Field(ge=1, le=1 << 24)
    macs: int = Field(ge=1, le=1 << 28)
    buffer: int = Field(ge=4, le=1 << 24)
    bus: int = Field(ge=4, le=1 << 16)
    comparators: int = Field(ge=1, le=1 << 16)
    dense_match: int = Field(ge=1, le=1 << 16)
    csc_match: Literal["nonzero", "beat"]
    row_match: int = Field(ge=0, le=1 << 16)


class Dram(Configuration):
    """Memory."""

    bytes: int = Field(ge=1, le=1 << 20)


class Runs(Configuration):
    """Run-length coding."""

    run_bits: int = Field(ge=1, le=16)
    continuation_has_value: bool


class Host(Configuration):
    """Host that converts in software."""

    bandwidth: BytesPerSecond = Field(gt=0)
    watts: float = Field(ge=0)
    clock: Hertz = Field(gt=0)


class Energies(Configuration):
    """Energies of one action each, pJ."""

    dram: float = Field(ge=0)
    sram: float = Field(ge=0)
    buffer: float = Field(ge=0)
    multiply: float = Field(ge=0)
    add: float = Field(ge=0)
    compare: float = Field(ge=0)
    compare_exchange: float = Field(ge=0)
    divide: float = Field(ge=0)
    count: float = Field(ge=0)
    scatter: float = Field(ge=0)

    def total(self, operations: Mapping[str, float]) -> float:
        """Energy of operations of converters, by name.

        Raises:
            KeyError: an operation that the table does not have.
        """
        energies = self.model_dump()
        return float(sum(energies[name] * number for name, number in operations.items()))


class SageParameters(Configuration):
    """All parameters of SAGE."""

    bits: int
    overlap: Literal["none", "full"]
    output: Literal["with_operands", "with_compute", "none"]
    zero_gating: bool
    match_cost: Literal["search", "bus"]
    array: Array
    dram: Dram
    rlc: Runs
    host: Host
    energy: Energies

    @model_validator(mode="after")
    def _known_width(self) -> Self:
        check_width(self.bits)
        return self

    def format(self, name: str) -> Format:
        """The format of this name; RLC with the runs that are set."""
        return Rlc(self.rlc.run_bits, self.rlc.continuation_has_value) if name == "rlc" else FORMATS[name]


@cache
def _shipped() -> SageParameters:
    return sage_parameters({})


def sage_parameters(settings: Mapping[str, object] | None = None, file: Path | None = None) -> SageParameters:
    """The parameters as shipped, with a file's over them, and settings over both.

    Raises:
        ConfigurationError: an unknown key, or a value that cannot be.
    """
    if settings is None and file is None:
        return _shipped()
    entries = layers(CONFIGURATION, name="sage", file=file, settings=settings)
    return validate(SageParameters, entries, "sage")
