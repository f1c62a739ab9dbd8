"""Python entry point of the debugger: ``session = fiberscope.debug("gamma", "wiki-Vote")``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.machine import Accelerator
from fiberscope.base.operand_arguments import check_factors
from fiberscope.run.debug.session import SNAPSHOTS, Session
from fiberscope.run.request import GraphRequest, RunRequest, SimulationRequest, request_conversion

if TYPE_CHECKING:
    from fiberscope.models.graphs.netlist import Graph

CONVERT = "convert"  # prefix of a conversion, as in "convert csr csc"
GRAPH = ".gv"  # ending of a graph file


def debug(
    accelerator: str | Accelerator[Any] | Graph,
    a: object = None,
    b: object = None,
    *,
    tensors: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    config: str | Path | None = None,
    exact: bool = False,
    snapshots: int = SNAPSHOTS,
    snapshot_memory: int | None = None,
    **options: Any,  # noqa: ANN401  (those of ``simulate``)
) -> Session:
    """Start a debugging session that stops before the first cycle.

    Args:
        accelerator: as for ``simulate``; or a graph, its file, or a conversion as in ``"convert csr csc"``.
        a, b, tensors: the operands, as for ``simulate``; the operands of a graph by name.
        settings, config, exact: as for ``simulate``.
        snapshots: maximum number of snapshots for going back.
        snapshot_memory: maximum bytes of the snapshots; half of the host's memory by default.
        options: further options of ``simulate``: ``cycle_limit``, ``parts``, ``histograms``, ``checked``.

    Raises:
        ConfigurationError, WorkloadError, InputError: the arguments are invalid.
    """
    factors = [operand for operand in (a, b) if operand is not None]
    run = build_request(
        accelerator, factors, tensors or {}, settings=settings or {}, config=config, exact=exact
    )
    return Session(run, options, snapshots, snapshot_memory)


def build_request(
    machine: object,
    factors: Sequence[Any],
    tensors: Mapping[str, Any],
    **arguments: Any,  # noqa: ANN401  (settings, config, exact)
) -> RunRequest:
    """Return the request of a machine, a graph or a conversion.

    Raises:
        InputError: there are more than two operands in order, or the formats are invalid.
    """
    check_factors(factors)
    if isinstance(machine, str) and machine.startswith(f"{CONVERT} "):
        return request_conversion(machine.removeprefix(CONVERT), factors, tensors, **arguments)
    if not isinstance(machine, str | Accelerator) or (isinstance(machine, str) and machine.endswith(GRAPH)):
        return GraphRequest(machine, factors, tensors, **arguments)
    return SimulationRequest(machine, factors, tensors, **arguments)
