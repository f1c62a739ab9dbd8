"""Fields that the reports of all fidelities share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from fiberscope.accelerators import configuration
from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.base.version import __version__
from fiberscope.results.report import host, parts
from fiberscope.results.report.document import Report
from fiberscope.results.report.host import Timing, environment
from fiberscope.workloads import Problem
from fiberscope.workloads.verification import TOLERANCE, Comparison

_OPERAND_FIELDS = ("name", "source", "origin", "digest", "shape", "nonzeros", "notice")


def build_report(
    timing: Timing,
    multiplies: int | None,
    ticks: int | None = None,
    *,
    config: Mapping[str, Any],
    cycles: int,
    **fields: Any,  # noqa: ANN401  (the fields of the report)
) -> Report:
    """Return the report of a run in this process: the fields of its fidelity, and the common fields.

    Args:
        timing: wall-clock time on the host.
        multiplies: number of multiplications, for the host's speed; None if the problem has none.
        ticks: executed ticks of components; None if no components were simulated.
        config: all parameters of the machine.
        cycles: length of the run.
        fields: the other fields of the report, by name. ``traffic_minimum_bytes``, ``memory`` and ``product``
            default to None.

    Raises:
        pydantic.ValidationError: a field is missing, unknown or invalid.
    """
    # the schema has no defaults for these fields, so that every document has their keys
    unknown = {"traffic_minimum_bytes": None, "memory": None, "product": None}
    return Report(
        version=__version__,
        config=dict(config),
        config_digest=configuration.digest(config),
        cycles=cycles,
        environment=environment(),
        host=host.measure_host(timing, cycles, multiplies, ticks),
        **(unknown | fields),
    )


def workload(operands: Iterable[object], names: Iterable[str] = ()) -> parts.Workload:
    """Return the workload of a report: the first operand, with the others attached.

    Args:
        operands: at least one object with name, source, origin, digest, shape, nonzeros and notice.
        names: names of their tensors, in the same order; not more than operands.
    """
    # ``zip_longest`` gives operands without a tensor an empty name
    first, *others = (
        {name: getattr(operand, name) for name in _OPERAND_FIELDS} | {"tensor": _format_tensor(operand, name)}
        for operand, name in zip_longest(operands, names, fillvalue="")
    )
    further_operands = [parts.Operand(**operand_fields) for operand_fields in others]
    return parts.Workload(
        **first, b=further_operands[0] if further_operands else None, more=tuple(further_operands[1:])
    )


def _format_tensor(operand: object, name: str) -> str:
    """Return a tensor with the ranks of an operand's dimensions; empty for an operand without ranks."""
    ranks = getattr(operand, "ranks", ())
    return f"{name}[{', '.join(ranks).lower()}]" if ranks and name else ""


def describe_problem(problem: Problem) -> parts.Problem:
    """Return the kind, the parameters and the title of a problem."""
    parameters = problem.parameters.model_dump(mode="json")
    return parts.Problem(kind=problem.kind, parameters=parameters, title=problem.title)


def add_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add counts by name; zero sums are kept."""
    sums: Counter[str] = Counter()
    for mapping in counts:
        sums.update(mapping)  # ``+`` of counters would drop the sums that are 0
    return dict(sums)


def collect_traffic_by_tensor(traffic: Mapping[str, Traffic]) -> dict[str, parts.TensorTraffic]:
    """Return the traffic of a model in bytes, by tensor."""
    return {name: parts.TensorTraffic(**asdict(moved)) for name, moved in traffic.items()}


def add_traffic(traffic: Iterable[Mapping[str, Traffic]]) -> dict[str, Traffic]:
    """Add bytes that were read and written, by tensor; useful bytes are left out of the sums."""
    sums: dict[str, Traffic] = {}
    for run_traffic in traffic:
        for name, tensor_traffic in run_traffic.items():
            total = sums.get(name, Traffic(0, 0))
            sums[name] = Traffic(
                total.read_bytes + tensor_traffic.read_bytes, total.write_bytes + tensor_traffic.write_bytes
            )
    return sums


def summarize_memory(
    use: MemoryUse | None, traffic: Mapping[str, parts.TensorTraffic], seconds: float
) -> parts.Memory | None:
    """Summarize the use of memory in a run; None if the model has no memory statistics.

    Args:
        use: hits, misses and conflicts of rows, peak bandwidth (above 0) and counters.
        traffic: bytes moved, by tensor.
        seconds: the simulated length of the run; with 0, the bandwidth is 0.
    """
    if use is None:
        return None
    moved_bytes = sum(tensor.moved_bytes for tensor in traffic.values())
    rate = moved_bytes / seconds if seconds else 0.0
    return parts.Memory(
        row_hits=use.row_hits,
        row_misses=use.row_misses,
        row_conflicts=use.row_conflicts,
        bytes_per_second=rate,
        peak_bytes_per_second=use.peak_bytes_per_second,
        utilization=rate / use.peak_bytes_per_second,
        counters=dict(use.counters),
    )


def verification(
    reference: str, comparisons: Sequence[Comparison], tolerance: float = TOLERANCE
) -> parts.Verification:
    """Summarize comparisons with a reference; without comparisons, ``passed`` is None.

    Counts are summed; the error and the tolerance are the largest. An infinite or undefined error is None.

    Args:
        reference: a description of the reference.
        comparisons: comparisons with their tolerances.
        tolerance: the tolerance of a report without comparisons.
    """
    tolerance = max((comparison.tolerance for comparison in comparisons), default=tolerance)
    if not comparisons:
        return parts.Verification(reference=reference, passed=None, tolerance=tolerance)
    # never NaN, for which ``max`` would depend on the order: ``Comparison`` has infinity instead
    error = max(comparison.max_relative_error for comparison in comparisons)
    return parts.Verification(
        reference=reference,
        passed=all(comparison.passed for comparison in comparisons),
        max_relative_error=error if math.isfinite(error) else None,
        tolerance=tolerance,
        missing=sum(comparison.missing for comparison in comparisons),
        extra=sum(comparison.extra for comparison in comparisons),
        overflows=sum(comparison.overflows for comparison in comparisons),
        zeros=_count_zeros(comparisons),
    )


def _count_zeros(comparisons: Sequence[Comparison]) -> int | None:
    """Return the number of ignored explicit zeros; None if entries are compared."""
    counts = [comparison.zeros for comparison in comparisons if comparison.zeros is not None]
    return sum(counts) if counts else None
