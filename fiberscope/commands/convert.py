"""``fiberscope convert``: one conversion between formats, its progress, its report and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.option_groups import expand_groups, flag
from fiberscope.commands.options import Matrix
from fiberscope.commands.rtl_options import Folder, Simulator
from fiberscope.commands.run_options import SimulationOptions
from fiberscope.results.report.files import matrices

NOT_WITH_RTL = (  # options that are refused with --rtl
    *("config", "json", "timeline", "perfetto", "memory_trace", "part"),
    *("exact", "histograms", "checked", "cycle_limit", "energy", "live"),
)

_Source = Annotated[
    str, typer.Argument(metavar="FROM", help="Format of the input: csr, zvc, ... (see 'fiberscope formats').")
]
_Target = Annotated[str, typer.Argument(metavar="TO", help="Format of the output: csc, bsr2, ...")]
_Bits = Annotated[
    int | None, typer.Option(metavar="8|16|32", help="Width of a value in bits; 32 by default.")
]
_Rtl = Annotated[
    str | None,
    typer.Option(metavar="BLOCKS", help="Run these units as RTL, for example divider,packer, and compare."),
]


@expand_groups(product="a conversion makes an encoding, which is no matrix; its result is told to be right")
def convert(
    source: _Source,
    target: _Target,
    matrix: Matrix,
    options: SimulationOptions,
    bits: _Bits = None,
    rtl: _Rtl = None,
    simulator: Simulator = "auto",
    output: Folder = Path("build/loop"),
) -> int:
    """Simulate the conversion of a matrix between formats (MINT).

    MINT is hardware that converts formats. The result is verified bit by bit.

    \b
    Examples:
      fiberscope convert csr csc wiki-Vote
      fiberscope convert csr bsr4 uniform:rows=100,cols=100,nonzeros=500 --bits 16 --json out.json
      fiberscope convert rlc coo uniform:rows=20,cols=20,nonzeros=60 --rtl divider,packer --sim pyrtl
    """
    from fiberscope.run.request import request_conversion

    settings: dict[str, object] = {} if bits is None else {"problem.bits": bits}
    if rtl is not None:
        formats = {"problem.source": source.lower(), "problem.target": target.lower()}
        return _run_with_rtl(rtl, matrix, options, settings | formats, simulator, output)
    make_conversion = partial(request_conversion, f"{source} {target}", (matrix,))
    return options.finish(options.simulate(make_conversion, matrices(matrix, None), settings))


def _run_with_rtl(
    blocks: str,
    matrix: str,
    options: SimulationOptions,
    conversion_settings: Mapping[str, object],
    simulator: str,
    output: Path,
) -> int:
    """Run a conversion with RTL, and compare it with the event simulation; return the exit code.

    Args:
        blocks: the units to replace, separated by commas.
        matrix: the matrix to convert.
        options: the options of the command line; of them, settings and the options of a waveform are used.
        conversion_settings: formats and bits, which override settings of the user.
        simulator: the HDL simulator.
        output: the folder of the files.

    Raises:
        InputError: an option does not apply to a comparison, or the run is invalid.
    """
    from fiberscope.commands.rtl import make_request, print_comparison

    for option in NOT_WITH_RTL:
        if getattr(options, option):
            raise InputError(f"{flag(option)}: cannot be combined with --rtl, which compares two runs")
    # The settings of the command come last, because the last value of a key counts
    settings = [*(options.settings or []), *(f"{key}={value}" for key, value in conversion_settings.items())]
    request = {"blocks": blocks, "accelerator": "mint", "operands": [matrix], "settings": settings}
    return print_comparison(make_request(request, options.waveform()), simulator, output)
