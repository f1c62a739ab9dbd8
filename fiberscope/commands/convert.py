"""``fiberscope convert``: one conversion between formats, its progress, its report and its summary."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fiberscope.commands.options import Matrix
from fiberscope.commands.run_options import Simulated
from fiberscope.commands.taking import taking
from fiberscope.report.files import matrices

__all__ = ["convert"]

_Source = Annotated[str, typer.Argument(metavar="FROM", help="Format that the matrix is in: csr, zvc, ...")]
_Target = Annotated[str, typer.Argument(metavar="TO", help="Format that it is to be in: csc, bsr2, ...")]
_Bits = Annotated[int, typer.Option(metavar="8|16|32", help="Bits of a value.")]


@taking()
def convert(source: _Source, target: _Target, matrix: Matrix, asked: Simulated, bits: _Bits = 32) -> int:
    """Convert a matrix between formats in MINT's hardware; the result is verified bit by bit.

    \b
    Examples:
      fiberscope convert csr csc wiki-Vote
      fiberscope convert csr bsr4 uniform:rows=100,cols=100,nonzeros=500 --bits 16 --json out.json
    """
    from fiberscope.runs import conversion

    make = partial(conversion, f"{source} {target}", (matrix,))
    return asked.ended(asked.simulate(make, matrices(matrix, None), {"problem.bits": bits}))
