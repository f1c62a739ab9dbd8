"""Energies of actions, from Accelergy's energy reference tables or from the CSV that ``rtl power`` writes."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.yaml_document import Document
from fiberscope.accelerators.yaml_layer import compose, read_text, yaml_errors
from fiberscope.accelerators.yaml_schema import validate_document

__all__ = ["ActionEnergy", "ComponentActions", "EnergyAction", "EnergyTable", "default_table", "read_table"]

_INSTANCES = re.compile(r"\[[^]]*\]")
_COLUMNS = ("component", "event", "picojoules")


def _plain_number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it should be a number")
    return value


@dataclass(frozen=True)
class ActionEnergy:
    """Energy of one action.

    Args:
        picojoules: the energy of one action, in pJ.
        bits: that one access of a memory moves; None: a line of the component.
        source: where the number is from.
    """

    picojoules: float
    bits: int | None = None
    source: str = ""


@dataclass(frozen=True)
class EnergyTable:
    """Energies by component, as a path of names, and action; ``name`` says whose they are."""

    name: str
    components: Mapping[str, Mapping[str, ActionEnergy]] = field(default_factory=dict)

    @classmethod
    def from_tables(cls, tables: Iterable[ComponentActions], name: str, *, bare: bool = False) -> EnergyTable:
        """Collect the tables of a file by component, without their numbers of instances.

        Where an action has several entries, for arguments, the largest counts: everything changes.

        Args:
            tables: the tables of the file.
            name: the name of the file.
            bare: whether a component's name counts as it stands behind the last dot.
        """
        components: dict[str, dict[str, ActionEnergy]] = {}
        for table, called in ((table_, each) for table_ in tables for each in (table_.name, *table_.also)):
            owner = _INSTANCES.sub("", called)
            actions = components.setdefault(owner.rpartition(".")[2] if bare else owner, {})
            for action in table.actions:
                entry = ActionEnergy(action.energy, action.bits, action.source or name)
                other = actions.get(action.name, entry)
                actions[action.name] = max(entry, other, key=lambda each: each.picojoules)
        return cls(name, components)

    def find(self, machine: str, component: str, kind: str, action: str) -> ActionEnergy | None:
        """The energy of an action: a component's in this machine, else a component's, else its class's."""
        for owner in (f"{machine}.{component}", component, kind):
            if action in self.components.get(owner, {}):
                return self.components[owner][action]
        return None

    def actions(self, path: str) -> Mapping[str, ActionEnergy] | None:
        """The actions of a component: of its path (without numbers of instances), or of its bare name."""
        if path in self.components:
            return self.components[path]
        name = path.rpartition(".")[2]
        keys = [key for key in self.components if key.rpartition(".")[2] == name]
        return self.components[keys[0]] if keys else None


class EnergyAction(BaseModel):
    """An action of a component and its energy in pJ; ``bits`` are those that one access of a memory moves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    energy: Annotated[float, BeforeValidator(_plain_number), Field(ge=0, le=1e300, allow_inf_nan=False)]
    arguments: object = None
    bits: Annotated[int, Field(ge=1)] | None = None
    source: str = ""


class ComponentActions(BaseModel):
    """The actions of a component; ``also`` are others that they are of."""

    model_config = ConfigDict(frozen=True)

    name: str
    also: list[str] = []
    actions: list[EnergyAction]


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True)

    tables: list[ComponentActions]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True)

    ERT: _Tables


@cache
def default_table() -> EnergyTable:
    """The table that comes with Fiberscope: published figures of 45 nm, LPDDR4 and HBM2."""
    text = (files("fiberscope.results.costs") / "energies.yaml").read_text("utf-8")
    return EnergyTable.from_tables(_tables(text, "energies.yaml"), "energies.yaml")


def read_table(path: Path) -> EnergyTable:
    """A table of the user's: YAML of Accelergy, or CSV with the columns component, event and picojoules.

    Of Accelergy's tables a component's name counts as it stands behind the last dot.

    Raises:
        ConfigurationError: it cannot be read, or is no such table; one line that says where.
    """
    text = read_text(path, str(path))
    if path.suffix == ".csv":
        return _from_csv(text, str(path))
    return EnergyTable.from_tables(_tables(text, str(path)), str(path), bare=True)


def _tables(text: str, name: str) -> list[ComponentActions]:
    with yaml_errors(name):
        document = Document.from_nodes(compose(text), name, lambda value, _complain: value)
    return validate_document(_File, document).ERT.tables


def _from_csv(text: str, name: str) -> EnergyTable:
    rows = csv.DictReader(io.StringIO(text))
    missing = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise ConfigurationError(f"{name}:1: a table of energies needs a column {missing[0]}")
    components: dict[str, dict[str, ActionEnergy]] = {}
    for line, row in enumerate(rows, start=2):
        energy = _number(row["picojoules"], f"{name}:{line}")
        components.setdefault(row["component"], {})[row["event"]] = ActionEnergy(
            energy, None, row.get("source") or name
        )
    return EnergyTable(name, components)


def _number(text: str | None, where: str) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ConfigurationError(f"{where}: picojoules should be a number from 0 on, not {text or 'nothing'}")
    return number
