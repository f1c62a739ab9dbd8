"""From Python what the commands of the same names do, a function each over the modules that do it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.base.notebook import shown_progress
from fiberscope.base.operand_arguments import file_of_graph, in_order
from fiberscope.results.report.document import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fiberscope.base.progress import Progress
    from fiberscope.models.analytic.mapper.api import Best
    from fiberscope.models.graphs.netlist import Graph
    from fiberscope.models.tiles.plan import Plan
    from fiberscope.results.report.difference import Difference
    from fiberscope.workloads.profile import Profile

__all__ = ["convert", "diff", "graph", "map", "plot", "profile", "tile"]


def convert(
    source: str,
    target: str,
    matrix: object,
    *,
    settings: Mapping[str, object] | None = None,
    exact: bool = False,
    **options: Any,  # noqa: ANN401  (those of ``simulate``)
) -> Report:
    """Convert a matrix between formats in MINT's hardware; the result is verified bit by bit.

    Args:
        source, target: formats, as in ``"csr"`` and ``"csc"``.
        matrix: as ``simulate`` takes A.
        settings: parameters of the converter by dotted key, and of the problem (``problem.bits``).
        exact: refuse a surrogate.
        options: others of ``simulate``, as ``waveform`` and ``cycle_limit``.

    Raises:
        InputError, WorkloadError, VerificationError: as of ``simulate``; or no recipe for the two formats.
    """
    from fiberscope.run.request import request_conversion  # noqa: PLC0415  (each function loads what it needs alone)

    return request_conversion(f"{source} {target}", (matrix,), None, settings, exact=exact).run(**options)


def graph(
    source: Graph | str | Path,
    tensors: Mapping[str, object],
    formats: str | Iterable[str] = (),
    order: str | Sequence[str] = (),
    *,
    progress: Progress | bool | None = None,
    **options: Any,  # noqa: ANN401  (those of ``fiberscope.models.graphs.run``)
) -> Report:
    """Run a graph of stream blocks on tensors; what it writes is verified.

    Args:
        source: a graph, the path of its file, or an expression to compile, as in ``"x(i) = B(i,j) * c(j)"``.
        tensors: the operands by name, as ``fiberscope.models.graphs.run`` takes them.
        formats, order: of an expression, as ``fiberscope.models.graphs.compile_expression`` takes them.
        progress: called with stage, work done and all work; or whether a notebook shows a bar.
        options: others of ``fiberscope.models.graphs.run``, as ``settings``.

    Raises:
        InputError, ConfigurationError, WorkloadError, VerificationError: as of those two.
    """
    from fiberscope.models.graphs import compile_expression, run  # noqa: PLC0415

    if isinstance(source, str) and file_of_graph(source) is None:
        source = compile_expression(source, formats, order).graph
    with shown_progress(progress) as tell:
        return run(source, tensors, progress=tell, **options)


def map(paths: str | Path | Sequence[str | Path], **options: Any) -> Best:  # noqa: ANN401  (the command's name)
    """Look for the mapping of a problem that costs least.

    Args:
        paths: a shipped design, or YAML files, as ``fiberscope.models.analytic.mapper.api.find`` takes them.
        options: the others of that function: ``search``, ``metrics``, ``limits``, ``seed``, ``workers``,
            ``progress``.

    Raises:
        InputError: as of that function.
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
        operands: files, names or generators, from left to right or by name (``"A=TENSOR"``); B is A again
            if left out.
        kernel, order: what is computed, and the loops over tiles, the outermost first.
        buffer: of each operand, in bytes.
        transpose_b: B is A transposed.
        exact: refuse a surrogate.
        progress: a callback; or whether a notebook shows a bar, which it does by default.

    Raises:
        InputError, WorkloadError: operands that do not fit the kernel, or that cannot be had.
    """
    from fiberscope.models.tiles.base import capacity_of  # noqa: PLC0415
    from fiberscope.models.tiles.kernel import Kernel  # noqa: PLC0415
    from fiberscope.models.tiles.operands import load_operands  # noqa: PLC0415
    from fiberscope.models.tiles.plan import plan  # noqa: PLC0415

    asked = Kernel.read(kernel, order)
    tensors = load_operands(asked, in_order(operands, asked.inputs), transpose_b=transpose_b, exact=exact)
    with shown_progress(progress) as tell:
        return plan(asked, tensors, capacity_of(asked, buffer), progress=tell)


def profile(matrix: object, name: str = "memory") -> Profile:
    """Return the statistics of a matrix from which similar matrices are generated.

    ``profile(...).model_dump_json()`` is the file that ``surrogate:profile=FILE`` takes.

    Args:
        matrix: a file, a name, a generator, a workload, or a matrix of numpy or scipy.
        name: the name of a matrix in memory.

    Raises:
        WorkloadError: the matrix is unknown or cannot be read.
    """
    from fiberscope.workloads import Workload, from_scipy, load  # noqa: PLC0415
    from fiberscope.workloads.locality import profile_of  # noqa: PLC0415

    if isinstance(matrix, str | Path):
        workload = load(str(matrix))
    else:
        workload = matrix if isinstance(matrix, Workload) else from_scipy(matrix, name)
    return profile_of(workload.matrix, workload.name, f"{workload.origin}, by `fiberscope profile`")


def diff(before: Report | str | Path, after: Report | str | Path) -> Difference:
    """Say what differs between two runs: what they were made of, settings, then what changed, by effect.

    Raises:
        InputError: a file that holds no report.
    """
    from fiberscope.results.report.difference import compare  # noqa: PLC0415

    return compare(_report(before), _report(after))


def plot(report: Report | str | Path, path: str | Path | None = None) -> Figure:
    """Draw where the cycles of a run went, its traffic, and both over time, as ``Report.plot`` does.

    Args:
        report: a report, or the path of its file.
        path: also write the figure into this PNG, SVG or PDF file.

    Raises:
        InputError: the file cannot be written, its name ends otherwise, or matplotlib is missing.
    """
    return _report(report).plot(path)


def _report(report: Report | str | Path) -> Report:
    return report if isinstance(report, Report) else Report.read(Path(report))
