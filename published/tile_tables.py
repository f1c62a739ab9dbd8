"""The tables of ``fiberscope compare tiles``."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from fiberscope.results.report.table import Table
from published.tiles import PUBLISHED, NotRun, Ran, Words

__all__ = ["tile_tables"]


def tile_tables(moved: Sequence[Words], runs: Sequence[Ran | NotRun]) -> list[Table]:
    """Words by the meter, and ExTensor's cycles and traffic."""
    return [_words(moved), _machine(runs)]


def _words(moved: Sequence[Words]) -> Table:
    methods = list(moved[0].totals)
    title = (
        "A times its transpose, words by the meter; buffers of 33,027 words; below, gains over Conservative"
    )
    table = Table(title, ("Matrix", *methods))
    for one in moved:
        table.add(_name(one), *(f"{total:,}" for total in one.totals.values()))
    for label, mean in (("geometric mean", _geometric), ("arithmetic mean", _arithmetic)):
        gains = {each: [one.totals["conservative"] / one.totals[each] for one in moved] for each in methods}
        table.add(label, *(f"{mean(gains[each]):.2f} x" for each in methods))
    return table


def _machine(runs: Sequence[Ran | NotRun]) -> Table:
    columns = (
        "Matrix, buffer",
        "Tiling",
        "Tile",
        "Cycles",
        "Against published",
        "Trace",
        "A",
        "B",
        "PO",
        "Z",
    )
    table = Table("ExTensor on A times A, memory at its peak; traffic in bytes", columns, labels=2)
    published = {one.matrix: one.cycles for one in runs if isinstance(one, Ran) and one.tiling == PUBLISHED}
    for one in runs:
        table.add(*(_row(one, published.get(one.matrix)) if isinstance(one, Ran) else _reason(one)))
    return table


def _row(one: Ran, published: int | None) -> list[str]:
    gain = "" if published is None else f"{published / one.cycles:.2f} x"
    return [
        f"{_name(one)}, {one.buffer}",
        one.tiling,
        " x ".join(map(str, one.tile)),
        f"{'' if one.complete else 'not finished in '}{one.cycles:,}",
        gain if one.complete else f"below {gain}",
        f"{one.trace_cycles:,}",
        *(f"{one.traffic[tensor]:,}" if one.complete else "" for tensor in ("A", "B", "PO", "Z")),
    ]


def _reason(one: NotRun) -> list[str]:
    """A row that has the reason instead of numbers."""
    return [_name(one), one.tiling, "", one.reason, *[""] * 6]


def _name(one: Words | Ran | NotRun) -> str:
    return f"{one.matrix} (SURROGATE)" if one.source == "surrogate" else one.matrix


def _geometric(gains: Sequence[float]) -> float:
    return exp(_arithmetic([log(gain) for gain in gains]))


def _arithmetic(gains: Sequence[float]) -> float:
    return sum(gains) / len(gains)
