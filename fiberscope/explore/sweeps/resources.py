"""Resources of the machines of a suite: multipliers, bandwidth, SRAM, area and clock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import isnan
from typing import Any

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.scaling import read_scaling
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.prices import count_sram_bytes

MAX_FAIR_RATIO = 2.0  # ratio between the resources of machines above which a warning is given


@dataclass(frozen=True)
class Resources:
    """Resources of a machine; unknown resources are None.

    Args:
        multipliers: multiplications per cycle, by the machine's ``scaling.yaml``.
        peak_bytes_per_second: peak bandwidth of the memory.
        sram_bytes: on-chip SRAM of the machine's ``costs.yaml``.
        area_um2: the known area of the chip, by ``costs.yaml``.
        area_upper: the upper end of the area; None if a part has no upper end.
        hertz: the clock.
        fault: the error in ``scaling.yaml``, or why the machine is not available; empty without an error.
    """

    multipliers: float | None
    peak_bytes_per_second: float | None
    sram_bytes: float | None
    area_um2: float | None
    hertz: float | None
    area_upper: float | None = None
    fault: str = ""


def read_resources(row: Mapping[Any, Any]) -> Resources:
    """Return the resources of a machine from the row of one of its finished runs in a store.

    An error of the machine's files, or a machine that is not available, is not raised but becomes ``fault``.
    """
    seconds, cycles = _number(row, "seconds"), _number(row, "cycles")
    config = json.loads(row["config"])
    accelerator, multipliers, fault = None, None, ""
    try:
        accelerator = _find_machine(row)
        if accelerator is not None:
            multipliers = read_scaling(accelerator.folder).compute_amount("multipliers", config)
    except (ConfigurationError, InputError) as error:  # the results of the runs are still valid
        fault = str(error)
    return Resources(
        multipliers,
        _number(row, "memory_peak_bytes_per_second"),
        None if accelerator is None else _sum_sram(accelerator.costs_file, config, row),
        _number(row, "area_um2"),
        cycles / seconds if seconds and cycles else None,  # the frequency of the clock that counts cycles
        _number(row, "area_upper"),
        fault,
    )


def _number(row: Mapping[Any, Any], column: str) -> float | None:
    number = row.get(column)
    return None if number is None or isnan(number) else float(number)


def _find_machine(row: Mapping[Any, Any]) -> Any:  # noqa: ANN401
    """Return the descriptor of the machine of a row; None for a command other than ``sim``."""
    if row["command"] != "sim":
        return None
    from fiberscope.run.find_machine import find  # noqa: PLC0415  (it loads the machine)

    return find(row["accelerator"])


def _sum_sram(costs: Any, config: Mapping[str, object], row: Mapping[Any, Any]) -> float | None:  # noqa: ANN401
    """Return the SRAM bytes of all components of a run; None if the costs list none or are invalid."""
    kinds = row.get("kinds")
    if not (costs.is_file() and isinstance(kinds, str)):
        return None
    with suppress(ConfigurationError):
        sizes = count_sram_bytes(read_cost_file(costs), config)
        counts: dict[str, int] = {name: kind["count"] for name, kind in json.loads(kinds).items()}
        return sum(count * _size_of(name, sizes) for name, count in counts.items()) or None
    return None


def _size_of(family: str, sizes: Mapping[str, float]) -> float:
    """Return the SRAM bytes of a family, by its name or else by the first pattern that matches; else 0."""
    matches = (size for pattern, size in sizes.items() if fnmatchcase(family, pattern))
    return sizes.get(family, next(matches, 0.0))


def list_resource_warnings(resources: Mapping[str, Resources]) -> list[str]:
    """Return a warning for each ``fault``, and for each kind of resource with an unfair ratio.

    A ratio is unfair above ``MAX_FAIR_RATIO``. Only multipliers and bandwidth are compared, among the
    machines with a known amount above 0.
    """
    kinds = {"multipliers": "multipliers", "bandwidth": "peak_bytes_per_second"}
    lines = [f"{name}: {entry.fault}" for name, entry in resources.items() if entry.fault]
    for kind, field in kinds.items():
        amounts = {name: amount for name, entry in resources.items() if (amount := getattr(entry, field))}
        if not amounts:
            continue
        least, most = min(amounts, key=amounts.__getitem__), max(amounts, key=amounts.__getitem__)
        ratio = amounts[most] / amounts[least]
        if ratio > MAX_FAIR_RATIO:
            times = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
            lines.append(f"Unequal machines: {most} has {times} times the {kind} of {least}")
    return lines
