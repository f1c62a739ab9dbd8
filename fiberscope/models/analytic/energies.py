"""Energies of actions, from a user's table or the default table.

Tables are those of Accelergy (Wu et al., ICCAD 2019): by component, the energy of each action in pJ, of a
row of the array. Tables name actions differently; the first name in the table counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.results.costs.energies import ActionEnergy, EnergyTable

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
# Actions whose energy the public tool uses for actions without an entry (observed in its results): for
# skipped accesses gated accesses, and for skipped metadata actual metadata.
_TOOL_DEFAULTS = {
    "skipped_read": "gated_read",
    "skipped_fill": "gated_fill",
    "skipped_update": "gated_update",
    "skipped_metadata_read": "metadata_read",
    "skipped_metadata_fill": "metadata_fill",
    "skipped_metadata_update": "metadata_update",
}


@dataclass(frozen=True)
class Energies:
    """The energies of a machine in pJ by action.

    Args:
        source: name of the energy table.
        levels: for each level, the energy of an access to one row, of the conversion of one word, and of the
            leakage of an instance in one cycle (``leak``).
        compute: for one unit, the energy of a compute by state, and of the leakage in one cycle.
    """

    source: str
    levels: tuple[Mapping[str, float], ...]
    compute: Mapping[str, float]

    @classmethod
    def from_table(
        cls, architecture: Architecture, table: EnergyTable | None, default: EnergyTable, tool: bool
    ) -> Energies:
        """Return the energies of a machine.

        An action for which a component's entry has no energy costs 0 pJ, unless ``tool`` supplies another
        action's, which it does for levels only. Levels that store nothing cost 0 pJ.
        The scale of a level or compute unit multiplies its energies, whichever table they are from.

        Args:
            architecture: the machine.
            table: the table of the user, by path of component; None without one.
            default: the default table, by class of component, for components that ``table`` lacks. Its
                energies per bit are scaled to a row of the level; an entry without bits counts as one bit. It
                must have the classes ``storage`` and ``intmac``, which stand for classes that it lacks.
            tool: whether missing actions have the energies that the public tool uses.
        """
        table = table or EnergyTable(default.name)  # without components: each takes the default
        levels = tuple(_level_energies(level, table, default, tool) for level in architecture.levels)
        return cls(table.name, levels, _compute_energies(architecture.compute, table, default))


def _level_energies(
    level: Level, table: EnergyTable, default: EnergyTable, tool: bool
) -> Mapping[str, float]:
    """Return the energy in pJ of each action of a level: of the table, else of the class by bits of a row."""
    if not level.stores:
        return dict.fromkeys(STORAGE_ACTIONS, 0.0)
    actions, row = table.find_actions(level.path), level.word_bits * level.block
    picojoules = _list_picojoules(actions or {})
    if actions is None:
        defaults = _find_class_actions(level.kind, default, STORAGE_ACTIONS, "storage")
        picojoules = {name: action.picojoules / (action.bits or 1) * row for name, action in defaults.items()}
    by_action = _scale_energies(picojoules, STORAGE_ACTIONS, level.energy_scale)
    if tool:
        for action, substitute in _TOOL_DEFAULTS.items():
            # an entry of 0 pJ in the table counts as an entry, so the energy itself cannot tell
            if not any(name in picojoules for name in STORAGE_ACTIONS[action]):
                by_action[action] = by_action[substitute]
    return by_action


def _compute_energies(compute: Compute, table: EnergyTable, default: EnergyTable) -> Mapping[str, float]:
    actions = table.find_actions(compute.path)
    if actions is None:
        actions = _find_class_actions(compute.kind, default, _COMPUTE_ACTIONS, "intmac")
    return _scale_energies(_list_picojoules(actions), _COMPUTE_ACTIONS, compute.energy_scale)


def _list_picojoules(actions: Mapping[str, ActionEnergy]) -> dict[str, float]:
    return {name: action.picojoules for name, action in actions.items()}


def _find_class_actions(
    kind: str, default: EnergyTable, actions_by_name: Mapping[str, tuple[str, ...]], fallback: str
) -> Mapping[str, ActionEnergy]:
    """Return the actions of a class in the default table, or of a fallback class.

    A class without any of the actions, such as a storage class for a compute unit, does not count.

    Args:
        kind: class of the component, in any case.
        default: the default table.
        actions_by_name: names in tables by action.
        fallback: class for components whose class the table lacks.
    """
    names = {name for names in actions_by_name.values() for name in names}
    by_class = {
        class_name.lower(): actions
        for class_name, actions in default.components.items()
        if names & actions.keys()
    }
    return by_class.get(kind.lower(), default.components[fallback])


def _scale_energies(
    picojoules: Mapping[str, float], actions: Mapping[str, tuple[str, ...]], scale: float
) -> dict[str, float]:
    # the first name that the table has counts: names are in the order of preference
    return {
        action: scale * next((picojoules[name] for name in names if name in picojoules), 0.0)
        for action, names in actions.items()
    }
