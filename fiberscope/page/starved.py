"""Starved components: idle cycles that are shown as waits for input on pages with a timeline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fiberscope.results.recording.document import ComponentStates, StateTimeline
from fiberscope.results.report.parts import Component

Cycles = npt.NDArray[np.int64]


def mark_starved(states: StateTimeline) -> StateTimeline:
    """Return states in which an idle component waits for input while one of its producers is not idle.

    In a report, a component without work is idle, also while it waits for a producer that works but does not
    send. An interval of states has only the number of cycles in each state. Its idle cycles count as waits up
    to the number of cycles in which the producer is not idle, less those in which the component is not idle.

    Args:
        states: recorded states of a run, with the producers of each component's inputs.
    """
    idle = {
        name: np.array(component.states.get("idle", [0] * states.intervals))
        for name, component in states.components.items()
    }
    length = {
        name: np.sum([np.array(cycles) for cycles in component.states.values()], axis=0)
        for name, component in states.components.items()
    }
    waiting: dict[str, dict[str, Cycles]] = {name: {} for name in states.components}
    # A component that waits is no longer idle, so that its own consumers may wait too: repeat until stable.
    # The loop ends, because each change takes idle cycles away.
    has_changed = True
    while has_changed:
        has_changed = False
        for name, component in states.components.items():
            # the ports in order: idle cycles that one port explains are not left for the next port
            for port, producers in component.inputs.items() if idle[name].any() else ():
                producer_cycles = _count_producer_cycles(name, producers, idle, length)
                starved_cycles = np.minimum(idle[name], producer_cycles)
                if starved_cycles.any():
                    waiting[name][port] = waiting[name].get(port, 0) + starved_cycles
                    idle[name] = idle[name] - starved_cycles
                    has_changed = True
    components = {
        name: _move_idle_cycles(component, waiting[name], idle[name]) if waiting[name] else component
        for name, component in states.components.items()
    }
    return states.model_copy(update={"components": components})


def mark_starved_totals(components: Mapping[str, Component], states: StateTimeline) -> dict[str, Component]:
    """Return the components of a report with idle cycles moved to waits, as in states of the whole run.

    Stalls by port stay as they are.

    Args:
        components: components by name with their cycles in each state, as reported.
        states: a result of ``mark_starved`` for the whole run, with all of ``components``.
    """
    waiting = {
        name: sum(sum(cycles) for state, cycles in component.states.items() if state.startswith("wait:"))
        for name, component in states.components.items()
    }
    return {
        name: component.model_copy(
            update={
                "input_stall": waiting[name],
                "idle": component.idle + component.input_stall - waiting[name],
            }
        )
        for name, component in components.items()
    }


def _count_producer_cycles(
    name: str, producers: tuple[str, ...], idle: dict[str, Cycles], length: dict[str, Cycles]
) -> Cycles:
    """Return, by interval, the cycles of the busiest producer less those of the component that are not idle.

    The busiest producer has the largest share of cycles that are not idle; the share is scaled to the
    component's cycles. The result is not negative.
    """
    # Where in the interval the cycles lie is unknown. The producer's active cycles can at most fill the
    # active cycles of the component; the remainder falls into its idle cycles in any case, so no wait is
    # invented.
    shares = [
        1 - idle[producer] / np.maximum(length[producer], 1)
        for producer in producers
        if producer in idle and producer != name
    ]
    busiest_share = np.max(shares, axis=0) if shares else np.zeros(len(length[name]))
    active_cycles = length[name] - idle[name]
    return np.maximum(np.rint(busiest_share * length[name]).astype(np.int64) - active_cycles, 0)


def _move_idle_cycles(
    component: ComponentStates, waiting: dict[str, Cycles], idle: Cycles
) -> ComponentStates:
    """Return states with idle cycles moved to waits at ports.

    Args:
        component: the recorded states.
        waiting: cycles to add to the waits, by port and interval.
        idle: the remaining idle cycles by interval.
    """
    states, waits_for = dict(component.states), dict(component.waits_for)
    for port, cycles in waiting.items():
        label = f"wait:{port}"
        states[label] = (np.array(states.get(label, [0] * len(cycles))) + cycles).tolist()
        waits_for.setdefault(label, component.inputs[port])
    states["idle"] = idle.tolist()
    return component.model_copy(update={"states": states, "waits_for": waits_for})
