"""``fiberscope rtl bench``: a user's cocotb tests on a block or a machine."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import MACHINE_WRONG, InputError
from fiberscope.commands.rtl_line_coverage import print_line_coverage, select_simulator
from fiberscope.commands.rtl_options import (
    BlockSettings,
    CoverageFile,
    Folder,
    HdlSimulator,
    LineCoverageFile,
)
from fiberscope.results.report.files import check_outputs
from fiberscope.rtl.select_block import condense_error, find_block, parse_parameters

if TYPE_CHECKING:
    from fiberscope.rtl.user_bench import BenchResult


def bench(
    file: Annotated[Path, typer.Argument(help="Python file with cocotb tests.")],
    block: Annotated[str, typer.Option(metavar="BLOCK", help="Block or machine to test.")],
    settings: BlockSettings = None,
    dut: Annotated[
        str,
        typer.Option(
            metavar="WHICH", help="Device under test: model, rtl, both (which must agree), or a machine."
        ),
    ] = "both",
    matrix: Annotated[
        str | None, typer.Option(metavar="MATRIX", help="Matrix that the machine under test multiplies.")
    ] = None,
    simulator: HdlSimulator = "auto",
    output: Folder = Path("build/bench"),
    coverage: CoverageFile = None,
    line_coverage: LineCoverageFile = None,
) -> int:
    """Run your own cocotb tests on a block or a machine.

    Runs the tests on the event model of the block, its RTL, or both. For a whole machine (--block gamma --dut
    gamma --matrix MATRIX) the tests act as its memory; examples/memory_bench.py is an example with its
    settings.

    \b
    Examples:
      fiberscope rtl bench examples/merger_bench.py --block merger --set radix=4 --dut both
    """
    from fiberscope.hw.rtl.tools.simulator import FailedBenchError, HdlError
    from fiberscope.rtl.user_bench import RTL, run_block_bench, run_machine_bench

    check_outputs({"the coverage": coverage}, {"the bench": file})
    is_machine = _is_machine(block, dut, matrix)
    simulator = _select_simulator(simulator, line_coverage, dut, file)
    if is_machine:
        run_bench = partial(run_machine_bench, file, dut, settings or [], str(matrix))
    else:
        rtl_block, counts_lines = find_block(block), line_coverage is not None
        parameters = parse_parameters(rtl_block, settings or [])
        run_bench = partial(run_block_bench, file, rtl_block, parameters, dut, line_coverage=counts_lines)
    try:
        outcome = run_bench(simulator, output)
    except FailedBenchError as failed:  # a result of the test, not an error of the user
        print(failed, file=sys.stderr)
        return MACHINE_WRONG
    except HdlError as error:
        raise condense_error(error, output) from error
    code = _print_outcome(file, block, outcome, coverage)
    print_line_coverage(output / RTL, line_coverage)  # each device has a folder of its own
    return code


def _select_simulator(simulator: str, line_coverage: Path | None, dut: str, bench_file: Path) -> str:
    """Return the simulator of a run: Verilator if line coverage is written.

    Raises:
        InputError: the device has no Verilog whose lines count, the simulator counts no lines, or the file of
            the line coverage cannot be written or is the bench.
    """
    from fiberscope.rtl.user_bench import BOTH_DEVICES, RTL

    if line_coverage is not None and dut not in (RTL, BOTH_DEVICES):
        raise InputError(f"--line-coverage: the module of --dut {dut} is empty; --dut {RTL}")
    return select_simulator(simulator, line_coverage, {"the bench": bench_file})


def _print_outcome(file: Path, block: str, outcome: BenchResult, coverage: Path | None) -> int:
    """Print differences between devices, violations and coverage; return the exit code.

    Args:
        file: the bench.
        block: name of the block or machine.
        outcome: the result of a bench whose tests have all passed.
        coverage: a JSON file for the coverage, which is also printed; ``-`` only prints; None for neither.
    """
    # Passed tests do not suffice: a test need not notice a difference or a violation of the protocol.
    print(f"{outcome.tests} tests of {file.name} passed on {' and '.join(outcome.transcripts)} of {block}")
    different = list(outcome.differences())
    for line in different:
        print(f"DIFFERENT in {line}")
    if not different:
        # A single device has nothing to be compared with.
        compared = ", the same in every cycle" if len(outcome.transcripts) > 1 else ""
        print(f"{outcome.count_transfers():,} tokens moved{compared}")
    for line in outcome.violations:
        print(f"PROTOCOL VIOLATION: {line}")
    if outcome.fault is not None:
        print(f"WRONG: {outcome.fault}")
    if coverage is not None:
        from fiberscope.rtl.coverage import Coverage, write_coverage

        modules = {name: Coverage(bins) for name, bins in outcome.bins.items()}
        print(*write_coverage(modules, coverage), sep="\n")
    return MACHINE_WRONG if different or outcome.violations or outcome.fault else 0


def _is_machine(block: str, dut: str, matrix: str | None) -> bool:
    """Return whether the device under test is a machine.

    Raises:
        InputError: the device is unknown, or does not fit the block or the matrix.
    """
    from fiberscope import accelerators
    from fiberscope.rtl.user_bench import DEVICES
    from fiberscope.workloads.errors import suggest

    if dut in DEVICES:
        if matrix is not None:
            raise InputError(f"--matrix {matrix}: it is for a machine under test, as in --dut gamma")
        return False
    machines = accelerators.names()
    if dut not in machines:
        raise InputError(f"no device {dut} to test; {suggest(dut, (*DEVICES, *machines))}")
    if block != dut:
        raise InputError(f"--block {block} --dut {dut}: a machine is tested as a whole; --block {dut}")
    if matrix is None:
        raise InputError(f"--dut {dut}: name the matrix that it runs on by --matrix (MTX=)")
    return True
