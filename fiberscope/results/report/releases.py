"""Conversion of reports of earlier releases to the keys of this release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from fiberscope.base.version import __version__

ALL_ACTIONS: Final = "all actions"  # action of a component whose energy version 0.1.0 does not divide
ENERGY_WITHOUT: Final = ("clock tree", "leakage", "wires")  # missing in energies of version 0.1.0
TRACE_ENERGY: Final = ("table", "by_tensor", "by_einsum")  # current keys of ``teaal.energy``


def upgrade(document: object) -> object:
    """Return a report of any release with the keys of this release.

    Version 0.1.0 had ``energy_pj`` for ``energy`` and ``edp``, and the trace model's total in
    ``teaal.energy``. Version 0.2.0 had no ``area.known``. Other documents are returned unchanged, and so are
    documents that cannot be converted: the validation of the report then says what is wrong.
    """
    if not isinstance(document, dict):
        return document
    try:
        current = _upgrade_first_release(document) if "energy_pj" in document else document
        area = current.get("area")
        return current if not area or "known" in area else {**current, "area": _add_sum(area)}
    except (AttributeError, KeyError, StopIteration, TypeError):
        return document


def _add_sum(area: Mapping[str, Any]) -> dict[str, Any]:
    """Add the sum of an area; version 0.2.0 has no upper end."""
    return {"known": sum(area["by_component"].values()), "upper": None, **area}


def _upgrade_first_release(document: Mapping[str, Any]) -> dict[str, Any]:
    current = {key: value for key, value in document.items() if key != "energy_pj"}
    if teaal := document.get("teaal"):
        energies, unknown = _trace_energy(teaal["energy"])
        tables = {key: value for key, value in teaal["energy"].items() if key in TRACE_ENERGY}
        current["teaal"] = {**teaal, "energy": tables}
    else:
        energies, unknown = _level_energy(document), ()
    if not energies:
        return current
    total = sum(sum(actions.values()) for actions in energies.values())
    energy = {"total_pj": total, "by_component": energies, "without": (*ENERGY_WITHOUT, *unknown)}
    return {**current, "energy": energy, "edp": total * 1e-12 * document["seconds"]}


def _trace_energy(energy: Mapping[str, Any]) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Return the energy in pJ by component, and the actions without a known energy."""
    components = energy.get("by_component", {})
    energies = {name: {ALL_ACTIONS: picojoules} for name, picojoules in components.items()}
    return energies, tuple(energy.get("unknown", ()))


def _level_energy(document: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the energy of the analytical model in pJ, by level and for computes."""
    if document["energy_pj"] is None:
        return {}
    energies = {name: {ALL_ACTIONS: level["energy_pj"]} for name, level in document["levels"].items()}
    # the entry that is no level names the computes; without it, StopIteration keeps the document as it is
    computes = next(
        name
        for name in document["analytical"]["pj_per_algorithmic_compute"]
        if name not in (*energies, "total")
    )
    return {**energies, computes: {"compute": document["analytical"]["compute"]["energy_pj"]}}


def describe_unreadable(text: bytes | str, schema: str, error: Exception) -> str:
    """Return why a report of another release cannot be read, as the end of a line.

    The text is empty for a report of this release, for other documents, and for an error that is not of the
    validation, such as invalid JSON.

    Args:
        text: the document.
        schema: the expected schema.
        error: the error of the attempt to read the document.
    """
    version = _find_version(text, schema)
    if version in ("", __version__) or not isinstance(error, ValidationError):
        return ""
    fault = error.errors(include_url=False)[0]  # the others may follow from the first
    key = ".".join(map(str, fault["loc"]))
    reason = f"{key}: {fault['msg']}" if key else fault["msg"]
    return (
        f"written by {version}, and version {__version__} cannot read it ({reason}); "
        f"run it again, or read it with {version}"
    )


def _find_version(text: bytes | str, schema: str) -> str:
    """Return the version of Fiberscope that wrote a report; empty for another document."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    family = schema.rpartition("-")[0]
    if not isinstance(document, dict) or not str(document.get("schema")).startswith(family):
        return ""
    return str(document.get("version", ""))
