"""Schema of ``costs.yaml``; docs/energy.md has it with an example."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fiberscope.hw.rtl.tools.sram_table import CELLS, SramCells
from fiberscope.results.costs.scaling import LIMITS

__all__ = ["CostsFile", "PartCosts", "SramCosts"]

_NETLIST = r"^\w+\(\w+=[^,()]+(, *\w+=[^,()]+)*\)$|^\w+\(\)$"


def _text(value: object) -> object:
    """A number is an expression too."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _with_unit(unit: str, example: str) -> BeforeValidator:
    def number(value: object) -> float:
        match = re.fullmatch(rf"(\d+(?:\.\d+)?) *{unit}", str(value))
        if match is None:
            raise ValueError(f"it should be a number with its unit, such as {example}")
        return float(match[1])

    return BeforeValidator(number)


Expression = Annotated[str, BeforeValidator(_text)]
Netlist = Annotated[str, Field(pattern=_NETLIST)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SramCosts(_Section):
    """An SRAM: bytes of all its words, bits of a word, which one access moves, and how many there are."""

    size: Expression
    word: Expression
    count: Expression = "1"


class PartCosts(_Section):
    """Costs of one component of a family.

    ``actions`` are the energies of its counters, ``operations`` those of the report that it does, ``rtl`` the
    twins that it is made of, ``area`` what is beside them and the SRAMs, at most ``area_upper``; ``count`` is
    how often all of these areas are there. ``paths`` are further twins, which bound the clock alone.
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
    def _is_whole(self) -> Self:
        if self.area_upper is not None and self.area is None:
            raise ValueError("area_upper needs an area, its lower end")
        return self


class MemoryCosts(_Section):
    """The energy of a bit that is read from memory, and of one that is written."""

    read: Expression
    write: Expression


class CostsFile(_Section):
    """The file.

    ``technology`` is in nm, ``voltage`` in volts, ``leakage`` the type of cells of all SRAMs. ``besides`` are
    parts of the chip that are no component, ``without`` are those without a known cost.
    """

    technology: Annotated[
        float, _with_unit("nm", "45 nm"), Field(ge=LIMITS[0], le=LIMITS[1], allow_inf_nan=False)
    ]
    voltage: Annotated[float, _with_unit("V", "0.9 V"), Field(ge=0.5, le=2.0)]
    leakage: SramCells = CELLS
    memory: MemoryCosts | None = None
    operations: dict[str, Expression] = {}
    without: list[str] = []
    besides: dict[str, PartCosts] = {}
    parts: dict[str, PartCosts] = {}
