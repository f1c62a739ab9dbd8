"""Energies of actions from Accelergy's energy reference tables, or from the CSV file of ``rtl power``."""

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
from fiberscope.accelerators.quantities import plain_number
from fiberscope.accelerators.yaml_document import Document
from fiberscope.accelerators.yaml_layer import compose, read_text, yaml_errors
from fiberscope.accelerators.yaml_schema import validate_document

# As in "pe[0..7].mac". Removed before a name is split at its last dot, since the range has dots too
_INSTANCE_RANGE = re.compile(r"\[[^]]*\]")
_COLUMNS = ("component", "event", "picojoules")


@dataclass(frozen=True)
class ActionEnergy:
    """Energy of one action.

    Args:
        picojoules: the energy of one action, in pJ.
        bits: number of bits that one access of a memory moves. If None, the trace model takes the width of
            the component, or 1 bit if the component has none. The analytical model takes 1 bit for an entry
            of the shipped table; in a user's table, it takes each access as one row and ignores ``bits``.
        source: the origin of the number.
    """

    picojoules: float
    bits: int | None = None
    source: str = ""


@dataclass(frozen=True)
class EnergyTable:
    """Energies by component and action.

    Args:
        name: the name of the table.
        components: energies by owner, then by action. An owner is a component by its path or last name, a
            component of one machine (``gamma.MainMemory``), or a class of components (``DRAM``). ``find`` and
            ``find_actions`` look owners up.
    """

    name: str
    components: Mapping[str, Mapping[str, ActionEnergy]] = field(default_factory=dict)

    @classmethod
    def from_components(
        cls, tables: Iterable[ReferenceTableComponent], name: str, *, keeps_last_name: bool = False
    ) -> EnergyTable:
        """Collect the tables of a file by component, without the instance ranges of names such as ``[0..7]``.

        An action can have several entries that differ in arguments. The largest energy is used, as an upper
        bound, also if components whose names become equal have the same action.

        Args:
            tables: the tables of the file.
            name: the name of the file, which is also the source of entries without one.
            keeps_last_name: whether to keep only the part of a component's name after the last dot.
        """
        components: dict[str, dict[str, ActionEnergy]] = {}
        for table, full_name in (
            (entry, component) for entry in tables for component in (entry.name, *entry.also)
        ):
            owner = _INSTANCE_RANGE.sub("", full_name)
            actions = components.setdefault(owner.rpartition(".")[2] if keeps_last_name else owner, {})
            for action in table.actions:
                entry = ActionEnergy(action.energy, action.bits, action.source or name)
                previous = actions.get(action.name, entry)  # the first entry is compared with itself
                actions[action.name] = max(entry, previous, key=lambda candidate: candidate.picojoules)
        return cls(name, components)

    def find(self, machine: str, component: str, class_name: str, action: str) -> ActionEnergy | None:
        """Return the energy of an action; None if no entry has it.

        The entry of the component in this machine has priority, then the entry of the component, then the
        entry of its class.

        Args:
            machine: name of the machine.
            component: path of the component in the machine.
            class_name: name of the component's class.
            action: name of the action.
        """
        for owner in (f"{machine}.{component}", component, class_name):
            if action in self.components.get(owner, {}):
                return self.components[owner][action]
        return None

    def find_actions(self, path: str) -> Mapping[str, ActionEnergy] | None:
        """Return the actions of a component; None if it has no entry.

        Its full path has priority. Otherwise the first entry in the file with the same last name is used,
        also if it is the entry of another component.

        Args:
            path: the dotted path of the component, without instance ranges.
        """
        if path in self.components:
            return self.components[path]
        # entries of ``read_table`` from YAML have last names only, those from CSV may have paths
        name = path.rpartition(".")[2]
        keys = [key for key in self.components if key.rpartition(".")[2] == name]
        return self.components[keys[0]] if keys else None


class ReferenceTableAction(BaseModel):
    """An action of a component, with its energy in pJ and the ``bits`` that one access of a memory moves.

    ``arguments`` are accepted, as Accelergy writes them, and not used.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    # The limit keeps the sums and products of energies finite
    energy: Annotated[float, BeforeValidator(plain_number), Field(ge=0, le=1e300, allow_inf_nan=False)]
    arguments: object = None
    bits: Annotated[int, Field(ge=1)] | None = None
    source: str = ""


class ReferenceTableComponent(BaseModel):
    """The actions of a component; ``also`` lists further components with the same actions.

    Other keys are ignored.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    also: list[str] = []
    actions: list[ReferenceTableAction]


class _ReferenceTable(BaseModel):
    """An energy reference table (ERT) of Accelergy."""

    model_config = ConfigDict(frozen=True)

    tables: list[ReferenceTableComponent]


class _FileSchema(BaseModel):
    """The content of a file; other sections are ignored."""

    model_config = ConfigDict(frozen=True)

    ERT: _ReferenceTable


@cache
def load_default_table() -> EnergyTable:
    """Return the shipped table: figures for 45 nm, LPDDR4 and HBM2.

    They are published, or derived from published figures; the source of each entry says which. Owners are
    classes, names of components, and components of one machine.
    """
    text = (files("fiberscope.results.costs") / "energies.yaml").read_text("utf-8")
    return EnergyTable.from_components(_parse_ert(text, "energies.yaml"), "energies.yaml")


def read_table(path: Path) -> EnergyTable:
    """Read a user's table: YAML of Accelergy, or CSV with the columns component, event and picojoules.

    In Accelergy's tables only the part of a component's name after the last dot is used, without an instance
    range. In CSV, the component is used as it is; of several rows of one action, the last counts. A further
    CSV column, ``source``, is optional. Other columns are ignored.

    Args:
        path: the file; the ending ``.csv`` means CSV, any other ending YAML.

    Raises:
        ConfigurationError: the file cannot be read, or is no energy table; one line with file and line.
    """
    text = read_text(path, str(path))
    if path.suffix == ".csv":
        return _parse_csv(text, str(path))
    return EnergyTable.from_components(_parse_ert(text, str(path)), str(path), keeps_last_name=True)


def _parse_ert(text: str, name: str) -> list[ReferenceTableComponent]:
    """Return the tables of a YAML text; ``name`` is the file in messages."""
    with yaml_errors(name):
        # A table has no parameters to refer to, so that a text with ${...} remains as it is
        document = Document.from_nodes(compose(text), name, lambda value, _complain: value)
    return validate_document(_FileSchema, document).ERT.tables


def _parse_csv(text: str, name: str) -> EnergyTable:
    """Return the table of a CSV text; ``name`` is the file in messages.

    Raises:
        ConfigurationError: a column is missing, or an energy is no finite number from 0 on.
    """
    rows = csv.DictReader(io.StringIO(text))
    missing = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise ConfigurationError(f"{name}:1: a table of energies needs a column {missing[0]}")
    components: dict[str, dict[str, ActionEnergy]] = {}
    for row in rows:
        energy = _parse_picojoules(row["picojoules"], f"{name}:{rows.line_num}")
        components.setdefault(row["component"], {})[row["event"]] = ActionEnergy(
            energy, None, row.get("source") or name
        )
    return EnergyTable(name, components)


def _parse_picojoules(text: str | None, location: str) -> float:
    """Return an energy in pJ.

    Args:
        text: the text of the column; None in a row that is too short.
        location: file and line, for the message.

    Raises:
        ConfigurationError: the text is not a finite number from 0 on, or there is none.
    """
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ConfigurationError(
            f"{location}: picojoules should be a number from 0 on, not {text or 'nothing'}"
        )
    return number
