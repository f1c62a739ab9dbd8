"""``fiberscope rtl area MACHINE``: areas of the parts of a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fiberscope.commands.checkout import is_checkout
from fiberscope.commands.output import print_progress, print_stacked
from fiberscope.results.costs.netlists import LIBRARY
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json


def measure_machine_area(
    machine: str,
    matrix: str,
    settings: Sequence[str],
    kinds: Sequence[str],
    output: Path | None,
    liberty: str | None,
) -> None:
    """Measure the areas of parts of a machine, and print a table.

    Args:
        machine: name or path of the machine.
        matrix: its operand, which sizes some of its parts.
        settings: its parameters, ``key=value``.
        kinds: prefixes of the measured kinds of parts; all if empty.
        output: a JSON file that is written too; ``-`` prints JSON in place of the table.
        liberty: the cell library, by its file or a known name; None for the default.

    Raises:
        InputError: no part exists as RTL, a tool is missing, or the file cannot be written.
    """
    from fiberscope.rtl.machine_area import area_document, area_report, collect_parts, measure_families

    check_outputs({"the areas": output}, {"the library of cells": None if liberty is None else Path(liberty)})
    parts = collect_parts(machine, matrix, settings, kinds)
    rows = measure_families(parts, print_progress, liberty or LIBRARY)
    if output is not None:
        write_json(output, area_document(parts, rows))
    if output == STANDARD_OUTPUT:
        return
    print_stacked(*area_report(parts, rows), *_iterate_published_lines(machine))


def _iterate_published_lines(machine: str) -> Iterator[str]:
    """Yield a line with the published area of the machine, if known; needs a checkout with ``published/``."""
    if not is_checkout():
        return
    from published.costs import published

    if figure := published(machine, "area, mm2"):
        yield f"Published: {figure.published:g} mm2 of the machine as it ships, {figure.source}."
