"""Energies of actions: a table of the user's, or a small one that ships.

Tables are those of Accelergy (Wu et al., ICCAD 2019): by component, the energy of each action in pJ, of a
row of the array. What an action is called differs; the first name that a table has counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fiberscope.models.analytic.architecture import Architecture, Compute, Level

__all__ = ["STORAGE_ACTIONS", "Energies", "EnergyTable"]

_READ, _WRITE = ("read",), ("write",)
STORAGE_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "read": ("random_read", "read"),
    "gated_read": ("gated_read",),
    "skipped_read": ("skipped_read",),
    "fill": ("random_fill", "random_write", "fill", "write"),
    "gated_fill": ("gated_fill", "gated_write"),
    "skipped_fill": ("skipped_fill", "skipped_write"),
    "update": ("random_update", "random_write", "update", "write"),
    "gated_update": ("gated_update", "gated_write"),
    "skipped_update": ("skipped_update", "skipped_write"),
    "metadata_read": ("random_metadata_read", "metadata_read"),
    "gated_metadata_read": ("gated_metadata_read",),
    "skipped_metadata_read": ("skipped_metadata_read",),
    "metadata_fill": ("random_metadata_fill", "metadata_fill", "metadata_write"),
    "gated_metadata_fill": ("gated_metadata_fill", "gated_metadata_write"),
    "skipped_metadata_fill": ("skipped_metadata_fill", "skipped_metadata_write"),
    "metadata_update": ("random_metadata_update", "metadata_update", "metadata_write"),
    "gated_metadata_update": ("gated_metadata_update", "gated_metadata_write"),
    "skipped_metadata_update": ("skipped_metadata_update", "skipped_metadata_write"),
    "decompression": ("decompression_count", "decompression"),
    "compression": ("compression_count", "compression"),
    "leak": ("leak",),
}
_COMPUTE_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "actual": ("mac_random", "mult_random", "mac", "mult", "compute"),
    "gated": ("mac_gated", "mult_gated", "compute_gated", "gated_compute"),
    "skipped": ("mac_skipped", "mult_skipped", "compute_skipped", "skipped_compute"),
    "leak": ("leak",),
}
# What the public tool takes where a table is silent: of what is skipped that of what is gated, and of skipped
# metadata that of metadata which is read (seen in its results).
_OF_THE_TOOL = {
    "skipped_read": "gated_read",
    "skipped_fill": "gated_fill",
    "skipped_update": "gated_update",
    "skipped_metadata_read": "metadata_read",
    "skipped_metadata_fill": "metadata_fill",
    "skipped_metadata_update": "metadata_update",
}


@dataclass(frozen=True)
class EnergyTable:
    """Energies in pJ by component, as a path of names, and action; ``name`` says whose they are."""

    name: str
    components: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def actions(self, path: str) -> Mapping[str, float] | None:
        """The actions of a component: of its path (without numbers of instances), or of its bare name."""
        if path in self.components:
            return self.components[path]
        name = path.rpartition(".")[2]
        found = [key for key in self.components if key.rpartition(".")[2] == name]
        return self.components[found[0]] if found else None


@dataclass(frozen=True)
class Energies:
    """The energies of a machine in pJ: of each level and of compute, by action; of levels by row."""

    source: str
    levels: tuple[Mapping[str, float], ...]
    compute: Mapping[str, float]

    @classmethod
    def of(cls, architecture: Architecture, table: EnergyTable, default: EnergyTable, tool: bool) -> Energies:
        """The energies that a table has for a machine; ``default`` is asked for components it lacks.

        Args:
            architecture: the machine.
            table: of the user's, or the default itself.
            default: the table that ships, by class of component.
            tool: whether the public tool's habits hold where the table is silent.
        """
        levels = tuple(_of_level(level, table, default, tool) for level in architecture.levels)
        return cls(table.name, levels, _of_compute(architecture.compute, table, default))


def _of_level(level: Level, table: EnergyTable, default: EnergyTable, tool: bool) -> Mapping[str, float]:
    given = table.actions(level.path)
    row = level.word_bits * level.block
    if given is None:
        given = {name: energy * row for name, energy in _class_of(level.kind, default, "storage").items()}
    found = _named(given, STORAGE_ACTIONS, level.energy_scale)
    if tool:
        for action, instead in _OF_THE_TOOL.items():
            if not any(name in given for name in STORAGE_ACTIONS[action]):
                found[action] = found[instead]
    return found


def _of_compute(compute: Compute, table: EnergyTable, default: EnergyTable) -> Mapping[str, float]:
    given = table.actions(compute.path)
    if given is None:
        given = _class_of(compute.kind, default, "compute")
    return _named(given, _COMPUTE_ACTIONS, compute.energy_scale)


def _class_of(kind: str, default: EnergyTable, otherwise: str) -> Mapping[str, float]:
    known = {name.lower(): actions for name, actions in default.components.items()}
    return known.get(kind.lower(), default.components[otherwise])


def _named(
    given: Mapping[str, float], actions: Mapping[str, tuple[str, ...]], scale: float
) -> dict[str, float]:
    return {
        action: scale * next((given[name] for name in names if name in given), 0.0)
        for action, names in actions.items()
    }
