"""Levels of storage and compute of the analytical model, as parts of a report.

A level may have several equal instances. Gating avoids an access but spends its cycle, and so saves energy
only; skipping saves energy and time (Sparseloop, MICRO 2022, Section III-A). Metadata are the positions of
nonzeros in a compressed format.
"""

from __future__ import annotations

from fiberscope.results.report.origin import ReportPart


class Accesses(ReportPart):
    """Accessed words of one instance.

    Args:
        algorithmic: all words, as with dense data.
        actual, gated, skipped: the words that are accessed, gated and skipped.
    """

    algorithmic: float
    actual: float
    gated: float
    skipped: float


class FormatAccesses(ReportPart):
    """Accesses to a format per instance, as (metadata, payloads) by rank from the innermost."""

    actual: tuple[tuple[float, float], ...]
    gated: tuple[tuple[float, float], ...]
    skipped: tuple[tuple[float, float], ...]


class Instances(ReportPart):
    """Used instances: the maximum of the level, and the tensor's average over nonempty tiles."""

    maximal: int
    average: float


class LevelTensor(ReportPart):
    """A tensor at a level; counts and energies are per instance, but ``energy_pj`` is of all used instances.

    ``tile`` has the extents of the tile that an instance stores, ``words`` its size in words, and ``density``
    the name of the density model. ``address_generations`` are the actual reads, fills and updates.
    ``format_words`` are the maximum (metadata, payloads) by rank from the innermost. Bandwidths are in words
    per cycle; a format share is the fraction that is metadata.
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
    """A level of storage.

    ``cycles`` are those of the compute or of the level's bandwidth, whichever needs more. ``throttling`` is
    the fraction of the compute speed that the bandwidth sustains, at most 1. ``energy_pj`` is of all used
    instances, with ``leak_pj``, the leakage of all instances, used or not.
    """

    cycles: int
    throttling: float
    energy_pj: float
    leak_pj: float
    tensors: dict[str, LevelTensor]


class Computes(ReportPart):
    """Computes of all units together, and their cycles."""

    algorithmic: float
    actual: float
    gated: float
    skipped: float
    units: int
    cycles: int
    energy_pj: float


class Analytical(ReportPart):
    """Summary of an evaluation.

    ``edp`` is in joules times cycles. Energies per compute are in pJ, by level and in total. ``intensity`` is
    computes per byte between the two outermost levels. ``loop_nest`` is the mapping as text, ``notes`` the
    interpretation of the inputs.
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
