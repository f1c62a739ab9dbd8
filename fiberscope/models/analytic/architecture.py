"""The machine as the analytical model sees it: levels of storage, outer to inner, and the compute units."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Architecture", "Compute", "Level"]


@dataclass(frozen=True)
class Level:
    """A level of storage.

    Args:
        name: the name of the level, as mappings have it.
        path: the path of the component, as energy tables have it (``system.PE[0..15].Spad``).
        kind: its class, which chooses the energies where no table has them.
        mesh: instances along X and Y.
        word_bits: bits of a word of data.
        block: words of a row: what one access of the array moves.
        entries: words that it holds; None: as many as are needed.
        cluster: instances that share a row.
        buffering: how many tiles it holds at once (double buffering: 2).
        least_utilization: share of the entries that a mapping has to use.
        overbooking: whether tiles may be larger than the level, and what exceeds it is read from outside;
            ``overbooked`` is the largest share of tiles for which that may be so.
        metadata_bits: bits of a word of metadata where a format gives none.
        metadata_width: bits of a row of metadata; 0: none is stored.
        metadata_depth: rows of metadata; None: as many as are needed.
        read_bandwidth, write_bandwidth: words a cycle and instance; None: any number.
        shared_bandwidth: the shared bandwidth of both together.
        bandwidth_scales: what a word of a tensor takes of the bandwidths, where it is not 1.
        decompresses, compresses: whether what comes from the outer level, or goes there, may change format.
        reduces: whether partial sums may be added here.
        energy_scale: of all its actions.
        stores: whether it can keep data; else it is a place of spatial loops alone, as a container is.
    """

    name: str
    path: str
    kind: str = "storage"
    mesh: tuple[int, int] = (1, 1)
    word_bits: int = 16
    block: int = 1
    entries: int | None = None
    cluster: int = 1
    buffering: float = 1.0
    least_utilization: float = 0.0
    overbooking: bool = False
    overbooked: float = 0.0
    metadata_bits: int = 8
    metadata_width: int = 0
    metadata_depth: int | None = None
    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    shared_bandwidth: float | None = None
    bandwidth_scales: tuple[tuple[str, float], ...] = ()
    decompresses: bool = False
    compresses: bool = False
    reduces: bool = True
    energy_scale: float = 1.0
    stores: bool = True

    @property
    def instances(self) -> int:
        """Return the number of instances."""
        return self.mesh[0] * self.mesh[1]

    @property
    def is_unlimited(self) -> bool:
        """Return whether it moves any number of words a cycle."""
        return self.stores and self.read_bandwidth is self.write_bandwidth is self.shared_bandwidth is None


@dataclass(frozen=True)
class Compute:
    """The units that do the computes."""

    name: str
    path: str
    kind: str = "compute"
    mesh: tuple[int, int] = (1, 1)
    word_bits: int = 16
    energy_scale: float = 1.0

    @property
    def instances(self) -> int:
        """Return the number of instances."""
        return self.mesh[0] * self.mesh[1]


@dataclass(frozen=True)
class Architecture:
    """Storage from the outermost level to the innermost, and the compute units that it feeds."""

    levels: tuple[Level, ...]
    compute: Compute
