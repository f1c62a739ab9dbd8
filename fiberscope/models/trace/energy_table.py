"""Energies of actions, from Accelergy's energy reference tables or from the CSV that ``rtl power`` writes."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.yaml_layer import compose, read_text, refusing
from fiberscope.models.trace.document import Document
from fiberscope.models.trace.schema import checked

__all__ = ["ActionEnergy", "EnergyTable", "default_table", "read_table"]

_INSTANCES = re.compile(r"\[[^]]*\]")
_COLUMNS = ("component", "event", "picojoules")


@dataclass(frozen=True)
class ActionEnergy:
    """What one action takes.

    Args:
        picojoules: of one.
        bits: that one access of a memory moves; None: a line of the component.
        source: where the number is from.
    """

    picojoules: float
    bits: int | None = None
    source: str = ""


@dataclass(frozen=True)
class EnergyTable:
    """Energies by component and action; ``name`` says in messages and reports whose they are."""

    name: str
    energies: Mapping[tuple[str, str], ActionEnergy]

    def find(self, machine: str, component: str, kind: str, action: str) -> ActionEnergy | None:
        """The energy of an action: a component's in this machine, else a component's, else its class's."""
        for owner in (f"{machine}.{component}", component, kind):
            if (owner, action) in self.energies:
                return self.energies[owner, action]
        return None


class _Action(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    energy: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    arguments: dict[str, object] | None = None
    bits: Annotated[int, Field(ge=1)] | None = None
    source: str = ""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    actions: list[_Action]


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True)

    tables: list[_Table]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True)

    ERT: _Tables


def default_table() -> EnergyTable:
    """The table that comes with Fiberscope: published figures of 45 nm, LPDDR4 and HBM2."""
    return _from_yaml(
        (files("fiberscope.models.trace") / "energies.yaml").read_text("utf-8"), "energies.yaml", ""
    )


def read_table(path: Path) -> EnergyTable:
    """A table of the user's: YAML of Accelergy, or CSV with the columns component, event and picojoules.

    Of Accelergy's tables a component's name counts as it stands behind the last dot, without instances. Where
    an action has several entries, for arguments, the largest counts: everything changes.

    Raises:
        ConfigurationError: it cannot be read, or is no such table; one line that says where.
    """
    text = read_text(path, str(path))
    return _from_csv(text, str(path)) if path.suffix == ".csv" else _from_yaml(text, str(path), ".")


def _from_yaml(text: str, name: str, separator: str) -> EnergyTable:
    with refusing(name):
        document = Document.of(compose(text), name, lambda value, _complain: value)
    tables = checked(_File, document).ERT.tables
    found: dict[tuple[str, str], ActionEnergy] = {}
    for table in tables:
        owner = _INSTANCES.sub("", table.name)
        owner = owner.rpartition(separator)[2] if separator else owner
        for action in table.actions:
            entry = ActionEnergy(action.energy, action.bits, action.source or name)
            other = found.get((owner, action.name), entry)
            found[owner, action.name] = max(entry, other, key=lambda each: each.picojoules)
    return EnergyTable(name, found)


def _from_csv(text: str, name: str) -> EnergyTable:
    rows = csv.DictReader(io.StringIO(text))
    missing = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise ConfigurationError(f"{name}:1: a table of energies needs a column {missing[0]}")
    found = {}
    for line, row in enumerate(rows, start=2):
        energy = _number(row["picojoules"], f"{name}:{line}")
        found[row["component"], row["event"]] = ActionEnergy(energy, None, row.get("source") or name)
    return EnergyTable(name, found)


def _number(text: str | None, where: str) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ConfigurationError(f"{where}: picojoules should be a number from 0 on, not {text or 'nothing'}")
    return number
