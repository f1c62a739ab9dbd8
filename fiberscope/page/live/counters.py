"""Counters of a running machine for the live view: states by family, channels, waits, one component."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, cached_property
from typing import Any

import numpy as np

from fiberscope.results.recording.waits import Wait, WaitChains
from fiberscope.run.debug.views import build_component_view
from fiberscope.sim import Channel, Component, Kernel
from fiberscope.sim.constants import FIRST_STALL
from fiberscope.sim.cycle_counts import Ledger
from fiberscope.sim.lookahead import LookaheadKernel
from fiberscope.sim.names import family_name

STATES = 4  # busy, waiting for input, waiting for output, idle
MAX_ROWS = 8  # largest number of listed families of channels, and of listed waiting components


class MachineCounters:
    """Reader of the counters of a built machine between two slices of its run, without side effects.

    Args:
        kernel: the kernel of the machine.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.components = {component.name: component for component in kernel.components}
        self.families = list(dict.fromkeys(map(family_name, self.components)))
        self._lookahead_names = _list_lookahead_components(kernel)
        self._channels = self._list_bounded_channels()
        # Columns of the ledger: the four states of each family, then the tokens of each channel.
        first_states = {family: STATES * index for index, family in enumerate(self.families)}
        accounts = [
            [first_states[family_name(component.name)] + state for state in self._state_indices(component)]
            for component in kernel.components
        ]
        self._state_count = STATES * len(self.families)
        channels = [channel for _family, channel in self._channels]
        columns = [self._state_count + index for index in range(len(channels))]
        self._ledger = Ledger(kernel.components, accounts, channels, columns)
        self._capacities = np.array([channel.capacity for channel in channels], dtype=np.int64)
        self._channel_families = list(dict.fromkeys(family for family, _channel in self._channels))
        numbers = {family: number for number, family in enumerate(self._channel_families)}
        self._family_numbers = np.array(
            [numbers[family] for family, _channel in self._channels], dtype=np.int64
        )

    @property
    def names(self) -> dict[str, list[str]]:
        """Return the names of the families, in the order of ``states``, and of the components."""
        return {"families": self.families, "components": list(self.components)}

    def _state_indices(self, component: Component) -> list[int]:
        """Return the index of each state of a component (busy, idle, then stalls) among ``STATES``.

        A component has a state for each port at which it can stall; indices 1 and 2 join them by direction.
        """
        stalls = self._kernel.wiring.stalls(component)
        return [0, 3, *(1 if stall.direction == "input" else 2 for stall in stalls)]

    def _list_bounded_channels(self) -> list[tuple[str, Channel]]:
        """Return the bounded channels with their families, without channels that lookahead models bypass."""
        links, family_of = self._kernel.wiring.connections, cache(family_name)
        return [
            (family_of(channel.name.partition("[")[0]), channel)
            for link, channel in zip(links, self._kernel.channels(), strict=True)
            if channel.bounded and link.consumer.component.name not in self._lookahead_names
        ]

    def read(self, time: int) -> dict[str, Any]:
        """Return states, channels and waits at a base tick; all components have executed all earlier ticks.

        ``states`` is flat: for each family, the cycles in busy, waiting for input, waiting for output, and
        idle. ``channels`` has at most ``MAX_ROWS`` families of channels, the fullest first, without empty
        ones. ``waits`` has at most ``MAX_ROWS`` components that wait, the longest first.
        """
        row = array("q", bytes(8 * (self._state_count + len(self._channels))))
        self._ledger.read(row, time)
        return {
            "states": row[: self._state_count].tolist(),
            "channels": self._find_fullest_families(np.frombuffer(row, dtype=np.int64)[self._state_count :]),
            "waits": self._find_longest_waits(time),
        }

    def _find_fullest_families(self, tokens: np.ndarray[Any, Any]) -> list[tuple[str, int, int, int, int]]:
        """Return family, channels, full channels, tokens and capacity of the fullest families."""
        count = len(self._channel_families)
        tokens_by_family = np.bincount(self._family_numbers, tokens, count).astype(np.int64)
        capacity = np.bincount(self._family_numbers, self._capacities, count).astype(np.int64)
        full = np.bincount(self._family_numbers, tokens >= self._capacities, count).astype(np.int64)
        members = np.bincount(self._family_numbers, minlength=count)
        order = np.argsort(-tokens_by_family / np.maximum(capacity, 1), kind="stable")[:MAX_ROWS]
        columns = (members, full, tokens_by_family, capacity)
        return [
            (self._channel_families[index], *(int(column[index]) for column in columns))
            for index in order
            if tokens_by_family[index]
        ]

    def _find_longest_waits(self, time: int) -> list[tuple[str, str, int, Sequence[str]]]:
        """Return component, port, cycles and peers of the longest waits."""
        waiting = []
        for component in self._kernel.components:
            if component.state >= FIRST_STALL and component.name not in self._lookahead_names:
                # The number of edges of the component's clock before ``time``, less the start of its state.
                period = component.clock.period if component.clock else 1
                waiting.append((-(-time // period) - component.since, component))
        waiting.sort(key=lambda wait: -wait[0])
        longest = waiting[:MAX_ROWS]
        return [(component.name, *self._describe_stall(component, cycles)) for cycles, component in longest]

    def _describe_stall(self, component: Component, cycles: int) -> tuple[str, int, Sequence[str]]:
        wiring = self._kernel.wiring
        stall = wiring.stalls(component)[component.state - FIRST_STALL]
        return (
            f"{'wait' if stall.direction == 'input' else 'full'}:{stall.label}",
            cycles,
            wiring.peers(stall),
        )

    def read_with(self, name: str, time: int) -> dict[str, Any]:
        """Return ``read`` with an entry ``selected``: the named component, or None if it does not exist."""
        selected = self.component(name, time) if name in self.components else None
        return {**self.read(time), "selected": selected}

    def component(self, name: str, time: int) -> dict[str, Any]:
        """Return the fields of a ``ComponentView`` without its channels, and its wait chain as ``chain``.

        Args:
            name: instance name of the component.
            time: the current base tick; all components have executed all earlier ticks.

        Raises:
            KeyError: there is no component of this name.
        """
        component = self.components[name]
        view = asdict(build_component_view(self._kernel, component, time))
        del view["channels"]
        chain = self._wait_chains.find_chain(component, time)
        links = [
            [wait.component, self._link_text(wait), self._state_start(wait.component, wait.since)]
            for wait in chain
        ]
        return {**view, "since": self._state_start(name, view["since"]), "chain": links}

    def _link_text(self, wait: Wait) -> str:
        """Return the text of a link, without the tokens of a bypassed channel."""
        return wait.text.partition(":")[0] if wait.peer in self._lookahead_names else wait.text

    def _state_start(self, name: str, since: int) -> int | None:
        """Return the start of a state; None for a lookahead model, which resets its accounting."""
        return None if name in self._lookahead_names else since

    @cached_property
    def _wait_chains(self) -> WaitChains:
        return WaitChains(self._kernel)


def _list_lookahead_components(kernel: Kernel) -> set[str]:
    """Return the components of lookahead models; a traced run has none."""
    if not isinstance(kernel, LookaheadKernel) or kernel.tracer is not None:
        return set()
    return {component.name for model in kernel.lookahead_models for component in model.components}
