"""Energies of actions: a table of the user's, or a small one that ships.

Tables are those of Accelergy (Wu et al., ICCAD 2019): by component, the energy of each action in pJ, of a
row of the array. What an action is called differs; the first name that a table has counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.results.costs.energies import ActionEnergy, EnergyTable

__all__ = ["STORAGE_ACTIONS", "Energies"]

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
class Energies:
    """The energies of a machine in pJ: of each level and of compute, by action; of levels by row."""

    source: str
    levels: tuple[Mapping[str, float], ...]
    compute: Mapping[str, float]

    @classmethod
    def from_table(
        cls, architecture: Architecture, table: EnergyTable | None, default: EnergyTable, tool: bool
    ) -> Energies:
        """The energies that a table has for a machine; ``default`` is asked for components it lacks.

        Args:
            architecture: the machine.
            table: the table of the user's, None if there is none.
            default: the table that ships, by class of component.
            tool: whether the public tool's habits hold where the table is silent.
        """
        table = table or EnergyTable(default.name)
        levels = tuple(_of_level(level, table, default, tool) for level in architecture.levels)
        return cls(table.name, levels, _of_compute(architecture.compute, table, default))


def _of_level(level: Level, table: EnergyTable, default: EnergyTable, tool: bool) -> Mapping[str, float]:
    if not level.stores:
        return dict.fromkeys(STORAGE_ACTIONS, 0.0)
    actions, row = table.actions(level.path), level.word_bits * level.block
    picojoules = _picojoules(actions or {})
    if actions is None:
        defaults = _class_of(level.kind, default, STORAGE_ACTIONS, "storage")
        picojoules = {name: action.picojoules / (action.bits or 1) * row for name, action in defaults.items()}
    by_action = _named(picojoules, STORAGE_ACTIONS, level.energy_scale)
    if tool:
        for action, instead in _OF_THE_TOOL.items():
            if not any(name in picojoules for name in STORAGE_ACTIONS[action]):
                by_action[action] = by_action[instead]
    return by_action


def _of_compute(compute: Compute, table: EnergyTable, default: EnergyTable) -> Mapping[str, float]:
    actions = table.actions(compute.path)
    if actions is None:
        actions = _class_of(compute.kind, default, _COMPUTE_ACTIONS, "intmac")
    return _named(_picojoules(actions), _COMPUTE_ACTIONS, compute.energy_scale)


def _picojoules(actions: Mapping[str, ActionEnergy]) -> dict[str, float]:
    return {name: action.picojoules for name, action in actions.items()}


def _class_of(
    kind: str, default: EnergyTable, wanted: Mapping[str, tuple[str, ...]], otherwise: str
) -> Mapping[str, ActionEnergy]:
    """The actions of a class that has such actions, else of another."""
    names = {name for names in wanted.values() for name in names}
    by_class = {
        class_name.lower(): actions
        for class_name, actions in default.components.items()
        if names & actions.keys()
    }
    return by_class.get(kind.lower(), default.components[otherwise])


def _named(
    picojoules: Mapping[str, float], actions: Mapping[str, tuple[str, ...]], scale: float
) -> dict[str, float]:
    return {
        action: scale * next((picojoules[name] for name in names if name in picojoules), 0.0)
        for action, names in actions.items()
    }
