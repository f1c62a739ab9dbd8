"""The part of a study file that is about a comparison: its baseline, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fiberscope.workloads.errors import nearest

__all__ = ["COLUMN_NAMES", "FIGURE_KINDS", "MEAN_NAMES", "RESOURCES", "Evaluation", "Illustration"]

RESOURCES = "resources"  # the table of the resources of the machines
COLUMN_NAMES = ("cycles", "time", "speedup", "traffic", "energy", "edp", "area", "utilization", "bandwidth")
MEAN_NAMES = ("geometric", "arithmetic", "harmonic")
FIGURE_KINDS = ("speedup", "roofline", "energy", "traffic", "front")


def _choices(names: Sequence[str]) -> BeforeValidator:
    """Return a validator for a name or a list of names."""

    def check(value: object) -> object:
        listed = [value] if isinstance(value, str) else value
        for name in listed if isinstance(listed, list) else ():
            if name not in names:
                raise ValueError(f"there is no {name}; {nearest(str(name), names)}")
        return listed

    return BeforeValidator(check)


def _illustration(value: object) -> object:
    """Return a text or a list as the contents of an illustration without a caption."""
    return {"show": value} if isinstance(value, str | list) else value


Columns: TypeAlias = Annotated[list[str], _choices(COLUMN_NAMES), Field(min_length=1)]


class Illustration(BaseModel):
    """A figure or a table of a paper.

    Args:
        show: the kind of the figure; the columns of the table, or ``resources``.
        caption: its caption; empty for a usual one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    show: Annotated[list[str], Field(min_length=1)]
    caption: str = ""


class _Figure(Illustration):
    show: Annotated[list[str], _choices(FIGURE_KINDS), Field(min_length=1, max_length=1)]


class _Table(Illustration):
    show: Annotated[list[str], _choices((*COLUMN_NAMES, RESOURCES)), Field(min_length=1)]


_AnyFigure: TypeAlias = Annotated[_Figure, BeforeValidator(_illustration)]
_AnyTable: TypeAlias = Annotated[_Table, BeforeValidator(_illustration)]


class Evaluation(BaseModel):
    """Baseline, tables and figures of a suite.

    Args:
        against: the machine that speed-ups are over; the first by default.
        same: ``multipliers``, ``bandwidth`` or ``area``, of which all machines get as much as ``against``.
        columns: the columns of the table in the terminal.
        mean: the means of the tables: ``geometric``, ``arithmetic``, ``harmonic``.
        title: the title of the paper.
        width: the width of its figures, as ``--figure-width`` takes it.
        figures: its figures; all that can be drawn by default.
        tables: its tables; by default that of ``columns``, and the resources.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    against: str | None = None
    same: list[str] = []
    columns: Columns = ["cycles", "speedup"]
    mean: Annotated[list[str], _choices(MEAN_NAMES), Field(min_length=1)] = ["geometric"]
    title: str = ""
    width: str | float = "page"
    figures: list[_AnyFigure] | None = None
    tables: list[_AnyTable] | None = None

    def all_tables(self) -> list[Illustration]:
        """The tables of the paper."""
        if self.tables is not None:
            return [*self.tables]
        return [Illustration(show=self.columns), Illustration(show=[RESOURCES])]
