"""Origin of a report: the request, the sampling, the sources, and the host."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.sampling import Sample

__all__ = [
    "Environment",
    "Host",
    "RecordedRequest",
    "ReportPart",
    "Sampling",
    "Source",
    "is_empty",
    "is_none",
]


def is_none(value: object) -> bool:
    """Return whether a key that few runs have is left out."""
    return value is None


def is_empty(value: object) -> bool:
    """Return whether a table that few runs fill is left out."""
    return not value


class ReportPart(BaseModel):
    """Base class of the parts of a report: immutable, without unknown keys."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class RecordedRequest(ReportPart):
    """Request for a run, as it was given, so that the run can be repeated.

    ``machine`` is a name or a path; of the analytical model all its inputs, quoted as in a shell. Operands
    are factors in their order or tensors by name, null where one was in memory; ``graph`` is the text of a
    graph that no file had.
    """

    command: Literal["sim", "model", "analyze", "graph"]
    machine: str
    factors: tuple[str | None, ...] = ()
    tensors: dict[str, str | None] = {}
    settings: dict[str, Any] = {}
    exact: bool = False
    parts: dict[str, str] = {}
    cycle_limit: int | None = None
    histograms: bool = False
    checked: bool = False
    graph: str | None = None
    chain: str | None = None
    sample: Sample | None = Field(default=None, exclude_if=is_none)
    values_only: bool = Field(default=False, exclude_if=is_empty)


class Sampling(ReportPart):
    """Sampling of a run; ``note`` says why a run was simulated in full.

    ``fraction`` is of the cycles; ``half_width`` is that of the cycles' interval, as a fraction of them.
    ``exact``, ``estimated`` and ``unavailable`` name the parts of the report that are so. ``traffic_ratio``
    is simulated bytes over those of the functional pass, in the windows. ``rows`` are the rows of the windows
    that were chosen at random, as first row and row behind the last. ``deviations`` are in cycles, a number a
    window; the variance of the cycles is the sum of their squares and has so many ``degrees`` of freedom.
    """

    windows: int
    window_cycles: int
    strata: int
    cycles_simulated: int
    fraction: float
    confidence: float
    half_width: float
    seed: int
    traffic_ratio: float | None = None
    rows: tuple[tuple[int, int], ...] = ()
    deviations: tuple[float, ...] = ()
    degrees: int = 1
    exact: tuple[str, ...] = ()
    estimated: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = ()
    note: str = ""


class Source(ReportPart):
    """Sources of a run: ``digest`` is over all ``modules`` (digests by name) of the machine, its parts, and
    their imports outside of libraries.

    ``path`` is the machine's as it was given, null of one that ships; ``commit`` is of the repository that it
    is in, and ``changed`` whether any of the sources differs from that; null where there is none.
    """

    digest: str
    modules: dict[str, str]
    path: str | None = None
    commit: str | None = None
    changed: bool | None = None
    asked: RecordedRequest


class Environment(ReportPart):
    """Environment of a run; ``build`` is the digest of the engine's compiled modules, null uncompiled."""

    python: str
    numpy: str
    scipy: str
    compiled: bool
    build: str | None


class Host(ReportPart):
    """The computer that ran the simulation.

    ``seconds`` is wall-clock time from the loaded operands to the verified product, ``simulation_seconds``
    that of the simulation alone, from which the speeds are. ``computes_per_host_cycle`` is multiplications
    per cycle of one core at ``hertz``; null where the host does not tell its frequency. Ticks are null where
    no components were simulated, multiplications where the problem has none.
    """

    seconds: float
    simulation_seconds: float
    ticks_per_second: float | None
    cycles_per_second: float
    multiplies_per_second: float | None
    computes_per_host_cycle: float | None
    hertz: float | None
    peak_memory_bytes: int
    compiled: bool
