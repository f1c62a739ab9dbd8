"""Evaluation section of a study file: the baseline, tables and figures of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from fiberscope.workloads.errors import suggest

RESOURCES = "resources"  # name of the table of resources
COLUMN_NAMES = ("cycles", "time", "speedup", "traffic", "energy", "edp", "area", "utilization", "bandwidth")
MEAN_NAMES = ("geometric", "arithmetic", "harmonic")
FIGURE_KINDS = ("speedup", "roofline", "energy", "traffic", "front")


def _build_choice_validator(names: Sequence[str]) -> BeforeValidator:
    """Return a validator for a name or a list of names; a single name becomes a list."""

    def check(value: object) -> object:
        listed = [value] if isinstance(value, str) else value
        for name in listed if isinstance(listed, list) else ():
            # Here and not by an enumeration type, so that the message suggests the nearest name
            if name not in names:
                raise ValueError(f"there is no {name}; {suggest(str(name), names)}")
        return listed  # a value of another type goes on to pydantic's own check

    return BeforeValidator(check)


def _expand_illustration(value: object) -> object:
    """Accept a text or a list as the content of an illustration without a caption."""
    return {"show": value} if isinstance(value, str | list) else value


Columns: TypeAlias = Annotated[list[str], _build_choice_validator(COLUMN_NAMES), Field(min_length=1)]


class Illustration(BaseModel):
    """A figure or a table of a paper. Only the subclasses of study files check the names in ``show``.

    Args:
        show: the kind of the figure; the columns of the table, or ``resources``.
        caption: the caption; empty for the default caption.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    show: Annotated[list[str], Field(min_length=1)]
    caption: str = ""


class _Figure(Illustration):
    show: Annotated[list[str], _build_choice_validator(FIGURE_KINDS), Field(min_length=1, max_length=1)]


def _separate_resources(names: list[str]) -> list[str]:
    """Return the columns of a table, or ``resources``, which is a whole table, alone."""
    if RESOURCES in names and len(names) > 1:
        raise ValueError(f"{RESOURCES} is a table of its own; write it as another table, without columns")
    return names


class _Table(Illustration):
    show: Annotated[
        list[str],
        _build_choice_validator((*COLUMN_NAMES, RESOURCES)),
        AfterValidator(_separate_resources),
        Field(min_length=1),
    ]


_AnyFigure: TypeAlias = Annotated[_Figure, BeforeValidator(_expand_illustration)]
_AnyTable: TypeAlias = Annotated[_Table, BeforeValidator(_expand_illustration)]


class Evaluation(BaseModel):
    """Baseline, tables and figures of a suite. ``against`` and ``same`` are checked when the suite runs.

    Args:
        against: the baseline of speed-ups; the first machine by default.
        same: ``multipliers``, ``bandwidth`` or ``area``, which all machines are scaled to.
        columns: the columns of the table in the terminal.
        mean: the means of the tables: ``geometric``, ``arithmetic``, ``harmonic``.
        title: the title of the paper.
        width: the width of figures, as for ``--figure-width``.
        figures: the figures; by default, all figures for which the runs have the numbers.
        tables: the tables; by default the table of ``columns`` and the table of resources.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    against: str | None = None
    same: list[str] = []
    columns: Columns = ["cycles", "speedup"]
    mean: Annotated[list[str], _build_choice_validator(MEAN_NAMES), Field(min_length=1)] = ["geometric"]
    title: str = ""
    width: str | float = "page"
    figures: list[_AnyFigure] | None = None
    tables: list[_AnyTable] | None = None

    def all_tables(self) -> list[Illustration]:
        """Return the tables of the paper."""
        if self.tables is not None:
            return [*self.tables]
        return [Illustration(show=self.columns), Illustration(show=[RESOURCES])]
