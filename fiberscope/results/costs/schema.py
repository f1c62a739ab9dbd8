"""Schema of ``costs.yaml``, as documented with an example in docs/energy.md."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fiberscope.hw.rtl.tools.sram_table import CELLS, SramCells
from fiberscope.results.costs.scaling import LIMITS, evaluate_energy

_NETLIST = r"^\w+\(\w+=[^,()]+(, *\w+=[^,()]+)*\)$|^\w+\(\)$"


def _accept_number(value: object) -> object:
    """Accept a number as an expression."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _build_unit_validator(unit: str, example: str) -> BeforeValidator:
    """Return a validator that reads a number with this unit only; ``example`` is for the message."""

    def number(value: object) -> float:
        match = re.fullmatch(rf"(\d+(?:\.\d+)?) *{unit}", str(value))
        if match is None:
            raise ValueError(f"it should be a number with its unit, such as {example}")
        return float(match[1])

    return BeforeValidator(number)


Expression = Annotated[str, BeforeValidator(_accept_number)]
Netlist = Annotated[str, Field(pattern=_NETLIST)]


class _Section(BaseModel):
    """A section of the file; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SramCosts(_Section):
    """An SRAM: ``size`` in bytes, ``word`` in bits moved by one access, and the ``count`` of such SRAMs."""

    size: Expression
    word: Expression
    count: Expression = "1"


class PartCosts(_Section):
    """Costs of one component of a family.

    ``actions`` are the energies of its counters, ``operations`` the operations of the report that the part
    performs. ``rtl`` lists its RTL blocks. ``area`` is the area outside of SRAMs and RTL blocks,
    ``area_upper`` its upper end. ``count`` multiplies all areas, the clock and the leakage. ``paths`` are
    further RTL blocks that bound the clock only.
    """

    source: Annotated[str, Field(min_length=1)]
    count: Expression = "1"
    actions: dict[str, Expression] = {}
    operations: list[str] = []
    srams: dict[str, SramCosts] = {}
    rtl: list[Netlist] = []
    paths: list[Netlist] = []
    area: Expression | None = None
    area_upper: Expression | None = None

    @model_validator(mode="after")
    def _check_area(self) -> Self:
        if self.area_upper is not None and self.area is None:
            raise ValueError("area_upper needs an area, its lower end")
        return self


class MemoryCosts(_Section):
    """The energies of a bit read from memory and of a bit written."""

    read: Expression
    write: Expression


class CostsFile(_Section):
    """The content of ``costs.yaml``.

    ``technology`` is in nm, ``voltage`` in volts, ``leakage`` the type of cells of all SRAMs. ``operations``
    are the energies of operations of the report. ``parts`` are costs by family of components, or by a pattern
    of families. ``besides`` are parts of the chip that are no component, ``without`` the names of parts
    without a known cost.
    """

    technology: Annotated[
        float, _build_unit_validator("nm", "45 nm"), Field(ge=LIMITS[0], le=LIMITS[1], allow_inf_nan=False)
    ]
    voltage: Annotated[float, _build_unit_validator("V", "0.9 V"), Field(ge=0.5, le=2.0)]
    leakage: SramCells = CELLS
    memory: MemoryCosts | None = None
    operations: dict[str, Expression] = {}
    without: list[str] = []
    besides: dict[str, PartCosts] = {}
    parts: dict[str, PartCosts] = {}

    @model_validator(mode="after")
    def _check_node(self) -> CostsFile:
        """Check that energies can be scaled to the technology and voltage."""
        evaluate_energy(self.technology, self.voltage)
        return self
