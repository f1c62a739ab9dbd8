"""Origin of a report: the request, the sampling, the sources, and the host."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.sampling import Sample


def is_none(value: object) -> bool:
    """Return whether to omit a rare key from the document, as ``exclude_if`` of a field."""
    return value is None


def is_empty(value: object) -> bool:
    """Return whether to omit a rare table, text or flag from the document, as ``exclude_if`` of a field."""
    return not value


class ReportPart(BaseModel):
    """Base class of the parts of a report: immutable, without unknown keys."""

    # pydantic builds the validators at first use, which shortens the import of the many parts
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class RecordedRequest(ReportPart):
    """Request of a run in its original form, for a repetition of the run.

    ``machine`` is a name or a path; for the analytical model, all inputs in shell quotes. Operands are
    factors in order or tensors by name, null for operands in memory, with which a run cannot be repeated from
    the report alone. ``graph`` is the text of a graph without a file.
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
    """Sampling of a run.

    ``note`` is the reason if a run was simulated in full, and describes the window if only one was simulated.

    ``fraction`` is the simulated fraction of the cycles, ``half_width`` the half-width of the interval as a
    fraction of the cycles. ``exact``, ``estimated`` and ``unavailable`` classify the parts of the report.
    ``traffic_ratio`` is simulated bytes over bytes of the functional pass, in the windows. ``rows`` are the
    rows of the random windows, as first row and row after the last. ``deviations`` has one number of cycles
    per random window; the variance of the cycles is the sum of their squares, with ``degrees`` degrees of
    freedom.
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
    """Sources of a run.

    ``digest`` covers all ``modules`` (digests by name) of the machine, its parts, and their imports outside
    of libraries; the digests of single modules are shortened to 12 digits. ``path`` is the path of a user's
    machine, null for a shipped machine. ``commit`` is the commit of the repository with the user's machine;
    for a shipped machine, with Fiberscope. ``changed`` is whether any source in this repository differs from
    the commit. Both are null without a repository, ``changed`` also without git.
    """

    digest: str
    modules: dict[str, str]
    path: str | None = None
    commit: str | None = None
    changed: bool | None = None
    asked: RecordedRequest


class Environment(ReportPart):
    """Environment of a run; ``build`` is the digest of the engine's compiled modules, null if uncompiled."""

    python: str
    numpy: str
    scipy: str
    compiled: bool
    build: str | None


class Host(ReportPart):
    """The computer that ran the simulation.

    ``seconds`` is wall-clock time from the loaded operands (for an analytical model, from their loading) to
    the verified result. ``simulation_seconds`` is the time on which the speeds are based: that of the
    simulation, or of a sampled run all of ``seconds``. ``computes_per_host_cycle`` is multiplications
    per cycle of a core at ``hertz``, null if the frequency is unknown. Ticks are null without simulated
    components, multiplications if the problem has none.
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
