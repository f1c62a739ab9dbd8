"""``fiberscope profile``: statistics of a matrix, from which similar matrices are generated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.options import Matrix
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, matrices, write_text

if TYPE_CHECKING:
    from fiberscope.workloads.profile import Profile

_Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the profile to this file; - prints it.")
]


def profile(matrix: Matrix, json: _Json = None) -> None:
    """Write the statistics of a matrix, to generate similar matrices.

    The profile has the nonzeros of rows and columns, the nonzeros between classes of rows and columns, and
    the distances of neighbours. Generated matrices load a machine similarly. The profile does not have the
    coordinates and values of the matrix.

    \b
    Examples:
      fiberscope profile mine.mtx --json mine.json
      fiberscope sim gamma surrogate:profile=mine.json,seed=1
    """
    from fiberscope.run.shortcuts import profile as profile_matrix

    check_outputs({"--json": json}, matrices(matrix, None))
    matrix_profile = profile_matrix(matrix)
    if json is not None:
        write_text(json, matrix_profile.model_dump_json() + "\n")
    if json != STANDARD_OUTPUT:
        print(_format_summary(matrix_profile))


def _format_summary(matrix_profile: Profile) -> str:
    rows, columns = matrix_profile.shape
    kind = "symmetric" if matrix_profile.symmetric else "square" if matrix_profile.square else "rectangular"
    diagonal = sum(class_.diagonal for class_ in matrix_profile.classes)
    top = max(matrix_profile.classes, key=lambda class_: max(max(group[1:]) for group in class_.degrees))
    highest = max(max(group[1:]) for group in top.degrees)
    return (
        f"{matrix_profile.name}: {rows:,} x {columns:,}, {kind}, {matrix_profile.nonzeros:,} nonzeros, "
        f"{diagonal:,} on the diagonal\n"
        f"{len(matrix_profile.classes)} classes of like degree; the highest degree is {highest:,}\n"
        f"locality {matrix_profile.locality:.3g} (1: neighbours lie anywhere)"
    )
