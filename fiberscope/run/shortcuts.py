"""Python functions for the commands of the same names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.base.notebook import open_progress_callback
from fiberscope.base.operand_arguments import find_graph_file, in_order
from fiberscope.base.text_encoding import escape_undecodable
from fiberscope.results.report.document import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fiberscope.base.progress import Progress
    from fiberscope.models.analytic.mapper.api import MapperResult
    from fiberscope.models.graphs.netlist import Graph
    from fiberscope.models.tiles.plan import Plan
    from fiberscope.results.report.difference import Difference
    from fiberscope.workloads.profile import Profile


def convert(
    source: str,
    target: str,
    matrix: object,
    *,
    settings: Mapping[str, object] | None = None,
    exact: bool = False,
    **options: Any,  # noqa: ANN401  (options of ``simulate``)
) -> Report:
    """Convert a matrix between formats in MINT's hardware; the result is verified bit by bit.

    Args:
        source, target: formats, as in ``"csr"`` and ``"csc"``.
        matrix: an operand, as A of ``simulate``.
        settings: parameters of the converter by dotted key, and of the problem (``problem.bits``).
        exact: refuse surrogates.
        options: further options of ``simulate``, such as ``waveform`` and ``cycle_limit``.

    Raises:
        InputError, WorkloadError, VerificationError: the errors of ``simulate``, or no recipe for the two
            formats.
    """
    from fiberscope.run.request import request_conversion  # noqa: PLC0415  (each function loads only its own modules)

    return request_conversion(f"{source} {target}", (matrix,), None, settings, exact=exact).run(**options)


def graph(
    source: Graph | str | Path,
    tensors: Mapping[str, object],
    formats: str | Iterable[str] = (),
    order: str | Sequence[str] = (),
    *,
    progress: Progress | bool | None = None,
    **options: Any,  # noqa: ANN401  (options of ``fiberscope.models.graphs.run``)
) -> Report:
    """Run a graph of stream blocks on tensors, and verify its result.

    Args:
        source: a graph, the path of its file, or an expression to compile, as in ``"x(i) = B(i,j) * c(j)"``.
        tensors: the operands by name, as for ``fiberscope.models.graphs.run``.
        formats, order: for an expression, as for ``fiberscope.models.graphs.compile_expression``.
        progress: a callback with stage, work done and total work; or whether a notebook shows a bar.
        options: further options of ``fiberscope.models.graphs.run``, such as ``settings``.

    Raises:
        InputError, ConfigurationError, WorkloadError, VerificationError: the errors of these two functions.
    """
    from fiberscope.models.graphs import compile_expression, run  # noqa: PLC0415

    # A text with ``=`` is an expression, unless a file has this name.
    if isinstance(source, str) and find_graph_file(source) is None:
        source = compile_expression(source, formats, order).graph
    with open_progress_callback(progress) as report_progress:
        return run(source, tensors, progress=report_progress, **options)


def map(paths: str | Path | Sequence[str | Path], **options: Any) -> MapperResult:  # noqa: ANN401
    """Search the mapping of a problem with the lowest cost.

    Args:
        paths: a shipped design, or YAML files, as for ``fiberscope.models.analytic.mapper.api.find``.
        options: further options of that function: ``search``, ``metrics``, ``limits``, ``seed``, ``workers``,
            ``settings``, ``progress``.

    Raises:
        ConfigurationError, InputError: the errors of that function.
    """
    from fiberscope.models.analytic.mapper.api import find  # noqa: PLC0415

    return find([paths] if isinstance(paths, str | Path) else paths, **options)


def tile(
    *operands: str,
    kernel: str = "C[i,j]=A[i,k]*B[k,j]",
    order: str = "ikj",
    buffer: int = 128 << 10,
    transpose_b: bool = False,
    exact: bool = False,
    progress: Progress | bool | None = None,
) -> Plan:
    """Choose tiles from statistics of the tensors (D2T2).

    Args:
        operands: files, names or generators, from left to right or by name (``"A=TENSOR"``); B defaults to A.
        kernel, order: the expression, and the loops over tiles, the outermost first.
        buffer: the buffer of each operand, in bytes; its capacity in words follows by ``count_capacity``.
        transpose_b: use the transpose of A as B.
        exact: refuse surrogates.
        progress: a callback; or whether a notebook shows a bar, which is the default.

    Returns:
        The plan with predicted traffic; ``Plan.measure_all`` counts the traffic of the real tiles.

    Raises:
        InputError, WorkloadError: operands do not fit the kernel, or are not available.
    """
    from fiberscope.models.tiles.base import count_capacity  # noqa: PLC0415
    from fiberscope.models.tiles.kernel import Kernel  # noqa: PLC0415
    from fiberscope.models.tiles.operands import load_operands  # noqa: PLC0415
    from fiberscope.models.tiles.plan import plan  # noqa: PLC0415

    tiled_kernel = Kernel.read(kernel, order)
    tensors = load_operands(
        tiled_kernel, in_order(operands, tiled_kernel.inputs), transpose_b=transpose_b, exact=exact
    )
    with open_progress_callback(progress) as report_progress:
        return plan(tiled_kernel, tensors, count_capacity(tiled_kernel, buffer), progress=report_progress)


def profile(matrix: object, name: str = "memory") -> Profile:
    """Return the statistics of a matrix, from which similar matrices are generated.

    ``profile(...).model_dump_json()`` is a file for ``surrogate:profile=FILE``.

    Args:
        matrix: a file, a name, a generator, a workload, or a matrix of numpy or scipy.
        name: the name of a matrix of numpy or scipy; other matrices have their own.

    Raises:
        WorkloadError: the matrix is unknown or cannot be read.
    """
    from fiberscope.workloads import Workload, from_scipy, load  # noqa: PLC0415
    from fiberscope.workloads.locality import profile_of  # noqa: PLC0415

    if isinstance(matrix, str | Path):
        workload = load(str(matrix))
    else:
        workload = matrix if isinstance(matrix, Workload) else from_scipy(matrix, name)
    source = f"{workload.origin}, by `fiberscope profile`"
    # A file name may have bytes that are no text, which JSON cannot hold.
    return profile_of(workload.matrix, escape_undecodable(workload.name), escape_undecodable(source))


def diff(before: Report | str | Path, after: Report | str | Path) -> Difference:
    """Compare two runs: provenance, settings, then results by effect.

    Args:
        before, after: reports, or paths of their files.

    Raises:
        InputError: a file contains no report.
    """
    from fiberscope.results.report.difference import compare  # noqa: PLC0415

    return compare(_report(before), _report(after))


def plot(report: Report | str | Path, path: str | Path | None = None) -> Figure:
    """Draw the use of cycles of a run, its traffic, and both over time, as ``Report.plot`` does.

    Args:
        report: a report, or the path of its file.
        path: a PNG, SVG or PDF file that the figure is also written to.

    Raises:
        InputError: the file cannot be written, has another ending, or matplotlib is missing.
    """
    return _report(report).plot(path)


def _report(report: Report | str | Path) -> Report:
    """Return a report, read from its file if it is a path."""
    return report if isinstance(report, Report) else Report.read(Path(report))
