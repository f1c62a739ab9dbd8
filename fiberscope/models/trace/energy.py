"""Energy of a run: the number of each action, times its energy from a table, with totals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fiberscope.models.trace.evaluate import EinsumRun
from fiberscope.models.trace.specification import Component, Specification
from fiberscope.results.costs.cost import UNKNOWN, Cost
from fiberscope.results.costs.energies import ActionEnergy, EnergyTable
from fiberscope.results.costs.run_costs import DYNAMIC, MEMORY, NO_WIRES, EnergyItem

OFF_CHIP = "DRAM"
_MEMORIES = (OFF_CHIP, "Buffet", "Cache")


@dataclass(frozen=True)
class ActionTotal:
    """Energy of one action of a component in an Einsum.

    Args:
        einsum: name of the Einsum.
        component: name of the component.
        tensor: the tensor that a memory moves; empty for other components.
        action: name of the action in the table.
        count: number of actions; of a memory, number of accesses, not of bits.
        energy: the energy of one action; None if the table has no entry.
    """

    einsum: str
    component: str
    tensor: str
    action: str
    count: int
    energy: ActionEnergy | None

    @property
    def picojoules(self) -> float:
        """Return the energy of all actions; 0 if the table has no entry."""
        return self.count * self.energy.picojoules if self.energy else 0.0


@dataclass(frozen=True)
class Energy:
    """The energy of a run, in pJ.

    Args:
        table: the name of the table of energies.
        totals: energies of each action of each component in each Einsum.
        off_chip: names of the off-chip memories.
    """

    table: str
    totals: Sequence[ActionTotal]
    off_chip: frozenset[str] = frozenset()

    @property
    def items(self) -> list[EnergyItem]:
        """Return the energy of each component by action; a memory's action names its tensor.

        An action without an entry in the table has the cost ``UNKNOWN``, without its tensor. An action in
        several Einsums has the source of the last one. The last item says that wires are not counted.
        """
        costs: dict[tuple[str, str], Cost] = {}
        for total in self.totals:
            action = f"{total.action} {total.tensor}".rstrip() if total.energy else total.action
            key = (total.component, action)  # the same in several Einsums: their energies add up
            source = total.energy.source if total.energy else ""
            picojoules = total.picojoules + (costs[key].lower if key in costs else 0.0)
            costs[key] = Cost.exact(picojoules, "published", source) if total.energy else UNKNOWN
        return [
            *(
                EnergyItem(name, action, MEMORY if name in self.off_chip else DYNAMIC, cost)
                for (name, action), cost in costs.items()
            ),
            NO_WIRES,
        ]

    @property
    def by_tensor(self) -> dict[str, float]:
        """Return the energy in pJ of moving each tensor."""
        return self._sum_by(lambda total: total.tensor)

    @property
    def by_einsum(self) -> dict[str, float]:
        """Return the energy in pJ of each Einsum."""
        return self._sum_by(lambda total: total.einsum)

    @property
    def unknown(self) -> list[str]:
        """Return each ``component.action`` without an entry in the table once; its energy counts as 0."""
        return list(
            dict.fromkeys(f"{total.component}.{total.action}" for total in self.totals if not total.energy)
        )

    @property
    def report_fields(self) -> dict[str, Any]:
        """Return the entries of a report besides the energies by component."""
        return {"table": self.table, "by_tensor": self.by_tensor, "by_einsum": self.by_einsum}

    def _sum_by(self, key_of: Callable[[ActionTotal], str]) -> dict[str, float]:
        """Return the energy in pJ by key; totals with an empty key are left out."""
        sums: dict[str, float] = {}
        for total in self.totals:
            if key := key_of(total):
                sums[key] = sums.get(key, 0.0) + total.picojoules
        return sums


def compute_energy(
    specification: Specification, metrics: Mapping[str, Any], runs: Sequence[EinsumRun], table: EnergyTable
) -> Energy:
    """Return the energy of a cascade's run.

    The actions are the accesses ``read`` and ``write`` of a memory, the operations of a compute unit, ``try``
    (a step) and ``success`` (a match) of an intersector, ``merge`` (a step) of a merger, and ``iterate`` (a
    body) of a sequencer. An access has the bits of the table's entry, else of a line, else one bit. The count
    of accesses is rounded up for each tensor, action and Einsum. Einsums without metrics are left out.

    Args:
        specification: the cascade; its name up to the first hyphen is the name of the machine in the table.
        metrics: counts as ``Model.metrics`` returns them.
        runs: the runs of the Einsums, of every round; their bodies are the matches of intersectors.
        table: energies of actions.
    """
    totals: list[ActionTotal] = []
    for einsum in specification.einsums:
        if einsum.name in metrics:
            components = specification.configurations[einsum.bindings.config].components
            # an iterated cascade has a run of this Einsum for each round, and metrics summed over the rounds
            einsum_runs = [run for run in runs if run.prepared.einsum.name == einsum.name]
            for name, counts in metrics[einsum.name].items():
                # the table names machines, and ``extensor-energy`` is a variant of the machine ``extensor``
                lookup = _EnergyLookup(specification.name.partition("-")[0], components[name], table)
                totals += lookup.iterate_totals(einsum.name, counts, _count_matches(einsum_runs, name))
    off_chip = {
        name
        for architecture in specification.configurations.values()
        for name, component in architecture.components.items()
        if component.kind == OFF_CHIP
    }
    return Energy(table.name, totals, frozenset(off_chip))


def _count_matches(runs: Sequence[EinsumRun], component: str) -> int:
    """Return the number of bodies of the loops at which a component intersects.

    Where a loop intersects, a body runs exactly at each match. At a loop that does not intersect, all bodies
    count, although ``Model.metrics`` counts no steps there.
    """
    return sum(
        run.bodies[binding.rank]
        for run in runs
        for binding in run.prepared.einsum.bindings.intersectors
        if binding.component == component
    )


@dataclass(frozen=True)
class _EnergyLookup:
    """Lookup of the energies of one component's actions."""

    machine: str
    component: Component
    table: EnergyTable

    def iterate_totals(self, einsum: str, counts: Mapping[str, Any], matches: int) -> Iterator[ActionTotal]:
        """Yield the energies of a component's counts in an Einsum; only intersectors use ``matches``."""
        for tensor, action, count in self._list_actions(counts, matches):
            entry = self.table.find(self.machine, self.component.name, self.component.kind, action)
            actions = count
            if self.component.kind in _MEMORIES:
                # rounded up; bits of the entry, else of a line, else one: a DRAM has no lines, its width is 0
                actions = -(-count // ((entry and entry.bits) or self.component.width or 1))
            yield ActionTotal(einsum, self.component.name, tensor, action, actions, entry)

    def _list_actions(self, counts: Mapping[str, Any], matches: int) -> Iterator[tuple[str, str, int]]:
        """Yield tensor, action and count; the count of a memory is in bits, the key ``time`` is no count."""
        counts = {name: count for name, count in counts.items() if name != "time"}
        for name, count in counts.items():
            if self.component.kind in _MEMORIES:
                yield from ((name, action, bits) for action, bits in count.items())
            elif self.component.kind == "Intersector":  # has a single count besides the time
                yield from (("", "try", count), ("", "success", matches))
            else:
                yield "", {"Merger": "merge", "Sequencer": "iterate"}.get(self.component.kind, name), count
