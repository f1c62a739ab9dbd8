"""Machine of the analytical model: levels of storage, outermost first, and compute units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """A level of storage.

    Args:
        name: the name of the level in mappings.
        path: the path of the component in energy tables (``system.PE[0..15].Spad``).
        kind: its class, for its energies in the default table.
        mesh: instances in the whole machine, along X and Y.
        word_bits: bits of a word of data.
        block: words of a row, which one access to the array moves.
        entries: capacity in words; None is unlimited.
        cluster: instances that share a row.
        buffering: number of tiles that the level holds at a time (double buffering: 2).
        least_utilization: smallest share of the capacity (entries over ``buffering``) that a mapping has to
            use.
        overbooking: whether tiles of compressed tensors may exceed the level; the excess is read from the
            outer level.
        overbooked: largest share of tiles that may exceed the level, with ``overbooking``.
        metadata_bits: bits of a word of metadata, unless the format says.
        metadata_width: bits of a row of metadata; 0: the level stores no metadata.
        metadata_depth: rows of metadata; None is unlimited.
        read_bandwidth, write_bandwidth, shared_bandwidth: words a cycle of an instance, of reads, of writes
            and of both together; None is unlimited.
        bandwidth_scales: names of tensors, each with the words of bandwidth that one of its words takes; 1
            for other tensors.
        decompresses, compresses: whether tiles may change format on the way from, or to, the outer level.
        reduces: whether partial sums may be added here.
        energy_scale: factor of the energy of all its actions.
        stores: whether the level can keep data; else it only has spatial loops, as a container does.
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
        """Return whether the level can keep data and has no limit of bandwidth."""
        # a chain of ``is``: all three are None
        return self.stores and self.read_bandwidth is self.write_bandwidth is self.shared_bandwidth is None


@dataclass(frozen=True)
class Compute:
    """The compute units; the arguments are those of ``Level``."""

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
    """Levels of storage, outermost first, and the compute units below them.

    The index of a level is its place in ``levels``. Where compute needs an index, it is the number of levels.
    """

    levels: tuple[Level, ...]
    compute: Compute
