"""Levels of storage and compute of the analytical model; parts of a report."""

from __future__ import annotations

from fiberscope.results.report.origin import ReportPart

__all__ = ["Accesses", "Analytical", "Computes", "FormatAccesses", "Instances", "LevelTensor", "StorageLevel"]


class Accesses(ReportPart):
    """Words a instance: were all data dense, and of these done, idled through and passed over."""

    algorithmic: float
    actual: float
    gated: float
    skipped: float


class FormatAccesses(ReportPart):
    """Units of a format a instance, by rank from the innermost: metadata and payloads."""

    actual: tuple[tuple[float, float], ...]
    gated: tuple[tuple[float, float], ...]
    skipped: tuple[tuple[float, float], ...]


class Instances(ReportPart):
    """Instances that are used: at most, and on average, where empty tiles do not come."""

    maximal: int
    average: float


class LevelTensor(ReportPart):
    """One tensor at one level; counts and energies are of one instance, if not said otherwise.

    ``format_words`` are the most units by rank from the innermost (metadata, payloads), ``bandwidth`` is in
    words a cycle, ``format_share`` the part of it that is metadata.
    """

    tile: tuple[int, ...]
    density: str
    words: float
    format: str
    format_words: tuple[tuple[float, float], ...] = ()
    instances: Instances
    reads: Accesses
    fills: Accesses
    updates: Accesses
    format_reads: FormatAccesses | None = None
    format_fills: FormatAccesses | None = None
    format_updates: FormatAccesses | None = None
    temporal_reductions: float
    address_generations: float
    energy_per_access_pj: float
    energy_per_instance_pj: float
    energy_pj: float
    read_bandwidth: float
    write_bandwidth: float
    read_format_share: float
    write_format_share: float


class StorageLevel(ReportPart):
    """One level: ``throttling`` is the part of its speed that its bandwidth leaves compute; 1: all."""

    cycles: int
    throttling: float
    energy_pj: float
    leak_pj: float
    tensors: dict[str, LevelTensor]


class Computes(ReportPart):
    """Computes of all units together, and their own cycles."""

    algorithmic: float
    actual: float
    gated: float
    skipped: float
    units: int
    cycles: int
    energy_pj: float


class Analytical(ReportPart):
    """The summary of an evaluation.

    ``edp`` is in joules times cycles. Energies per compute are in pJ, by level and in all. ``intensity`` is
    computes a byte between the two outermost levels. ``loop_nest`` is the mapping as text, ``notes`` what
    was made of the inputs.
    """

    mode: str
    compute: Computes
    utilization: float
    edp: float
    pj_per_algorithmic_compute: dict[str, float]
    pj_per_actual_compute: dict[str, float]
    intensity: float | None
    loop_nest: str
    notes: tuple[str, ...] = ()
