"""Check that areas and energies of compared designs are sums over the same parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Final

from fiberscope.base.errors import InputError
from fiberscope.results.report.numbers import SEPARATOR

COLUMNS: Final = {  # columns of sums by the column of their missing parts
    "area_without": ("area_um2", "area_upper"),
    "energy_without": ("energy_pj", "energy_upper", "edp", "ed2p"),
}


@dataclass
class CostComparison:
    """Compares the missing parts of the sums of all designs of a search.

    A sum without some part, such as an area without its SRAM, is lower than the true sum. Sums over different
    parts are therefore not comparable.

    Args:
        missing: the missing parts of the first checked design, by column and workload; ``check`` fills it.
    """

    missing: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def check(self, measure: str, row: Mapping[str, Any]) -> None:
        """Check the sums that a measure uses.

        Args:
            measure: a column of a store, or SQL over columns.
            row: the row of a run.

        Raises:
            InputError: a sum is null because a part has no figure, or covers other parts than an earlier
                design; the message names the part.
        """
        for column, sums in _find_sums(measure):
            parts = frozenset(filter(None, (row.get(column) or "").split(SEPARATOR)))
            # A null sum without missing parts has another cause, which ``Search`` reports
            if parts and any(_is_null(row.get(name)) for name in sums):
                # A part with a call of RTL first, as the user can measure this part
                listed = next((part for part in sorted(parts) if "(" in part), min(parts))
                raise _build_cost_error(measure, row, f"null, as {listed} has no figure")
            expected = self.missing.setdefault((column, str(row["workload"])), parts)
            if parts - expected:
                raise _build_cost_error(
                    measure, row, f"without {min(parts - expected)}, unlike another design"
                )
            if expected - parts:
                raise _build_cost_error(measure, row, f"with {min(expected - parts)}, unlike another design")


def _find_sums(measure: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the column of missing parts, and the sums of the measure that belong to this column."""
    identifiers = {*re.findall(r"\w+", measure)}
    for column, names in COLUMNS.items():
        if used := [name for name in names if name in identifiers]:
            yield column, used


def _is_null(number: object) -> bool:
    return number is None or (isinstance(number, float) and isnan(number))


def _build_cost_error(measure: str, row: Mapping[str, Any], reason: str) -> InputError:
    """Return the error of a measure; a reason with a call of RTL, and so a ``(``, also has advice."""
    settings = ", ".join(f"{key}={value}" for key, value in json.loads(row["settings"] or "{}").items())
    design = f"{row['machine']} with {settings}" if settings else row["machine"]
    advice = "measure it with fiberscope rtl netlists, or " if "(" in reason else ""
    return InputError(f"{measure}: is {reason}, for {design}; {advice}give another measure")
