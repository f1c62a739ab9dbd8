"""SAGE's ranking of the format pairs that a class of accelerators supports.

Each operand has an MCF (memory compression format) and an ACF (algorithm compression format, with which the
array computes). A *pair* is a choice of both formats for both operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.converters.sage.configuration import SageParameters, load_sage_parameters
from fiberscope.converters.sage.kernels import Problem, problem
from fiberscope.converters.sage.operands import operand
from fiberscope.converters.sage.reasons import Reason, explain_first
from fiberscope.converters.sage.search import Choice, Prediction, list_choices, rank
from fiberscope.converters.sage.statistics import Statistics
from fiberscope.converters.sage.systems import OURS, find_system
from fiberscope.results.report.table import Table, format_percent
from fiberscope.workloads.errors import WorkloadError, suggest

if TYPE_CHECKING:
    import pandas as pd

TABLE_ROWS = 10  # rows of the table in a notebook


@dataclass(frozen=True)
class FormatRanking:
    """Predicted costs of pairs of formats, by increasing energy-delay product.

    Args:
        problem: the kernel and its operands.
        parameters: the parameters of the predictor.
        system: the class of accelerators that limits the pairs.
        predictions: a prediction for each pair, ranked.
    """

    problem: Problem
    parameters: SageParameters
    system: str
    predictions: Sequence[Prediction]

    @property
    def best(self) -> Prediction:
        """Return the prediction with the lowest energy-delay product; of equal ones, the lowest energy."""
        return self.predictions[0]

    @property
    def reasons(self) -> list[Reason]:
        """Return the reason for each format of the best pair, as far as another format is possible."""
        return list(explain_first(self.predictions))

    def frame(self) -> pd.DataFrame:
        """Return a row for each pair of formats: the formats, cycles, energy in pJ and their product.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd  # noqa: PLC0415  (an extra)

        return pd.DataFrame([prediction.document() for prediction in self.predictions])

    def document(self) -> dict[str, object]:
        """Return plain data for ``fiberscope sage --json``."""
        return {
            "schema": "fiberscope-sage-1",
            "kernel": self.problem.kernel,
            "system": self.system,
            "operands": {
                "a": _describe_operand(self.problem.streamed),
                "b": _describe_operand(self.problem.held),
            },
            "parameters": self.parameters.model_dump(mode="json"),
            "best": self.best.document(),
            "why": [asdict(reason) for reason in self.reasons],
            "pairs": [prediction.document() for prediction in self.predictions],
        }

    def tables(self, top: int = TABLE_ROWS) -> list[Table]:
        """Return a table of the first ``top`` pairs, and a table of reasons if there are any."""
        return [table for table in (self._pair_table(top), self._build_reason_table()) if table.rows]

    def _repr_html_(self) -> str:
        """Return the tables, for a notebook."""
        return "".join(table.html() for table in self.tables())

    def _pair_table(self, top: int) -> Table:
        """Return a row for each of the first ``top`` pairs; ``EDP`` is relative to the best pair.

        The columns of DRAM, conversion and computing do not add up to ``Cycles``, since some parts overlap.
        """
        operands = (self.problem.streamed, self.problem.held)
        shapes = [" x ".join(f"{size:,}" for size in operand.shape) for operand in operands]
        density = [f"{operand.density:.3g}" for operand in operands]
        heads = (f"{name} {shapes[i]}, density {density[i]}" for i, name in enumerate("AB"))
        columns = ("MCF A-B", "ACF A-B", "Cycles", "DRAM", "Conversion", "Computing", "uJ", "EDP")
        table = Table(f"{self.problem.kernel}: {'; '.join(heads)}", columns, labels=2)
        best_product = self.best.product
        for prediction in self.predictions[:top]:
            table.add(
                f"{prediction.choice.mcf_a}-{prediction.choice.mcf_b}",
                f"{prediction.choice.acf_a}-{prediction.choice.acf_b}",
                f"{prediction.cycles:,.0f}",
                f"{prediction.dram_cycles + prediction.output_cycles:,.0f}",
                f"{prediction.streaming_cycles + prediction.two_pass_cycles:,.0f}",
                f"{prediction.compute_cycles:,.0f}",
                f"{prediction.picojoules / 1e6:,.2f}",
                format_percent(prediction.product / best_product - 1) if best_product else "",
            )
        return table

    def _build_reason_table(self) -> Table:
        title = "Why: the best pair without each of its formats"
        table = Table(title, ("Instead of", "The best", "EDP", "As"), 2)
        for reason in self.reasons:
            cells = (str(reason.instead), format_percent(reason.product - 1), reason.because)
            table.add(f"{reason.what}: {reason.chosen}", *cells)
        return table


def sage(
    a: object,
    b: object = None,
    *,
    kernel: str | None = None,
    system: str = OURS,
    mcf_a: str | None = None,
    mcf_b: str | None = None,
    settings: Mapping[str, object] | None = None,
    config: str | Path | None = None,
) -> FormatRanking:
    """Predict the formats of two operands with the lowest energy-delay product (SAGE).

    Args:
        a, b: files, names, ``expected:shape=...,density=...``, or arrays of numpy and scipy. B defaults to a
            matrix with as many rows as A's last rank, and half as many columns as A's first rank. For
            ``spgemm`` it has the density of A; otherwise it is dense.
        kernel: ``spgemm`` or ``spmm`` for a matrix A, the first by default; ``spttm`` or ``mttkrp`` for a
            tensor of three ranks, the first by default.
        system: the class of accelerators that limits the choice.
        mcf_a, mcf_b: fixed formats in memory; None for any format.
        settings, config: parameters of the predictor by dotted key, and a YAML file that they override.

    Raises:
        ConfigurationError, WorkloadError: a parameter, an operand, a kernel or a format is invalid, or no
            pair is left.
    """
    parameters = load_sage_parameters(settings or {}, None if config is None else Path(config))
    first = operand(a, "A")
    kernel_name = kernel or ("spgemm" if len(first.shape) == 2 else "spttm")
    kernel_problem = problem(kernel_name, first, None if b is None else operand(b, "B"))
    limits = find_system(system)
    # None means that the class supports every choice.
    supported = limits.choices() or list_choices(kernel_problem)
    candidates = [choice for choice in supported if _is_requested(choice, kernel_problem, mcf_a, mcf_b)]
    predictions = rank(kernel_problem, parameters, candidates, limits.converter)
    return FormatRanking(kernel_problem, parameters, system, predictions)


def _is_requested(choice: Choice, kernel_problem: Problem, mcf_a: str | None, mcf_b: str | None) -> bool:
    """Return whether a choice has the fixed formats in memory.

    Raises:
        WorkloadError: the kernel has no such format for the operand, in any choice.
    """
    for required, formats in zip((mcf_a, mcf_b), kernel_problem.mcfs, strict=True):
        if required is not None and required not in formats:
            raise WorkloadError(
                f"SAGE has no format {required!r} in memory here", fix=suggest(required, formats)
            )
    return mcf_a in (None, choice.mcf_a) and mcf_b in (None, choice.mcf_b)


def _describe_operand(statistics: Statistics) -> dict[str, object]:
    return {
        "name": statistics.name,
        "shape": statistics.shape,
        "nonzeros": statistics.nonzeros,
        "density": statistics.density,
        "counted": statistics.tensor is not None,
    }
