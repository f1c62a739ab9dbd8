"""The section ``ERT``, and the table that ships."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from fiberscope.models.analytic.energies import EnergyTable
from fiberscope.models.analytic.schema import TableSchema, TablesSchema
from fiberscope.models.analytic.source import Inputs, read_files

__all__ = ["default_table", "read_energies"]

_INSTANCES = re.compile(r"\[[^]]*\]")


def read_energies(inputs: Inputs) -> EnergyTable | None:
    """The table that the inputs have, if they have one."""
    if "ERT" not in inputs.sections:
        return None
    given, place = inputs.need("ERT")
    return _table(given, place.document.name)


@cache
def default_table() -> EnergyTable:
    """The table that ships: by class, of storage for each bit."""
    path = Path(str(files("fiberscope.models.analytic") / "energies.yaml"))
    given, _place = read_files([path]).need("ERT")
    return _table(given, path.name)


def _table(given: TablesSchema, name: str) -> EnergyTable:
    return EnergyTable(name, {_INSTANCES.sub("", one.name): _actions(one) for one in given.tables})


def _actions(given: TableSchema) -> dict[str, float]:
    """Where an action has several energies, for arguments, the largest counts: everything changes."""
    found: dict[str, float] = {}
    for one in given.actions:
        found[one.name] = max(one.energy, found.get(one.name, 0.0))
    return found
