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


class Array(Configuration):
    """Parameters of the weight-stationary array.

    - ``elements``, ``macs``: number of PEs, and of multiply-accumulate units in all PEs;
    - ``buffer``: words of data or metadata in a PE;
    - ``bus``: words per cycle;
    - ``comparators``: stored ids of a PE that are compared per cycle;
    - ``dense_match``, ``row_match``: cycles of a PE for a streamed nonzero: with a dense column of B, and for
      the row id of COO;
    - ``csc_match``: what a PE matches separately if A is in CSC: each nonzero, or each beat of the bus.
    """

    elements: int = Field(ge=1, le=1 << 24)
    macs: int = Field(ge=1, le=1 << 28)
    buffer: int = Field(ge=4, le=1 << 24)
    bus: int = Field(ge=4, le=1 << 16)
    comparators: int = Field(ge=1, le=1 << 16)
    dense_match: int = Field(ge=1, le=1 << 16)
    csc_match: Literal["nonzero", "beat"]
    row_match: int = Field(ge=0, le=1 << 16)


class Dram(Configuration):
    """Parameters of memory: bytes per cycle."""

    bytes: int = Field(ge=1, le=1 << 20)


class Runs(Configuration):
    """Parameters of the format RLC: bits of a run, and whether an entry that continues a run has a value."""

    run_bits: int = Field(ge=1, le=16)
    continuation_has_value: bool


class Host(Configuration):
    """Parameters of a host that converts in software: bandwidth and power.

    ``clock`` is the clock of the array, in whose cycles the time of the host is counted.
    """

    bandwidth: BytesPerSecond = Field(gt=0)
    watts: float = Field(ge=0)
    clock: Hertz = Field(gt=0)


class Energies(Configuration):
    """Energy of each action in pJ; ``dram``, ``sram`` and ``buffer`` are the energies of one word."""

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
        """Return the energy of operations in pJ.

        Args:
            operations: number of operations by name, as of ``conversion_cost``.

        Raises:
            KeyError: if an operation has no energy.
        """
        energies = self.model_dump()
        return float(sum(energies[name] * number for name, number in operations.items()))


class SageParameters(Configuration):
    """All parameters of SAGE.

    - ``bits``: bits of a value: 8, 16 or 32;
    - ``overlap``: ``full`` if DRAM, conversions and computation overlap completely; with ``none``, only DRAM
      and the streaming part of conversions overlap;
    - ``output``: whether the output's transfer adds to the transfer of the operands (``with_operands``),
      overlaps with the computation (``with_compute``), or does not count (``none``);
    - ``zero_gating``: whether the array saves the energy of zeros;
    - ``match_cost``: ``bus`` if matching ids takes a PE no cycles of its own; ``search`` for the cycles in
      ``array``.
    """

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
        """Return the format with a name; RLC with the parameters ``rlc``.

        Raises:
            KeyError: if there is no such format.
        """
        return Rlc(self.rlc.run_bits, self.rlc.continuation_has_value) if name == "rlc" else FORMATS[name]


@cache
def _load_shipped() -> SageParameters:
    return load_sage_parameters({})  # not None, for which ``load_sage_parameters`` calls this function


def load_sage_parameters(
    settings: Mapping[str, object] | None = None, file: Path | None = None
) -> SageParameters:
    """Load the parameters: ``settings`` override ``file``, and ``file`` overrides the shipped parameters.

    Without both, every call returns the same instance, which cannot be changed.

    Args:
        settings: values by dotted key.
        file: path of a YAML file.

    Raises:
        ConfigurationError: if the file cannot be read, a key does not exist, or a value is invalid.
    """
    if settings is None and file is None:
        return _load_shipped()
    entries = layers(CONFIGURATION, name="sage", file=file, settings=settings)
    return validate(SageParameters, entries, "sage")
