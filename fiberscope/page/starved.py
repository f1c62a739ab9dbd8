"""Starved components: idle cycles that are shown as waits for input on pages with a timeline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fiberscope.results.recording.document import ComponentStates, StateTimeline
from fiberscope.results.report.parts import Component

Cycles = npt.NDArray[np.int64]


def with_starved(states: StateTimeline) -> StateTimeline:
    """Return states in which an idle component waits for input while one of its producers is not idle.

    In a report, a component without work is idle, also while it waits for a producer that works but does not
    send. An interval of states has only the number of cycles in each state. Its idle cycles count as waits up
    to the number of cycles in which the producer is not idle, less those in which the component is not idle.

    Args:
        states: recorded states of a run, with the producers of each component's inputs.
    """
    idle = {
        name: np.array(part.states.get("idle", [0] * states.intervals))
        for name, part in states.components.items()
    }
    length = {
        name: np.sum([np.array(cycles) for cycles in part.states.values()], axis=0)
        for name, part in states.components.items()
    }
    waiting: dict[str, dict[str, Cycles]] = {name: {} for name in states.components}
    # A component that waits is no longer idle, so that its own consumers may wait too: repeat until stable.
    changed = True
    while changed:
        changed = False
        for name, part in states.components.items():
            for port, writers in part.inputs.items() if idle[name].any() else ():
                active = _active(name, writers, idle, length)
                moved = np.minimum(idle[name], active)
                if moved.any():
                    waiting[name][port] = waiting[name].get(port, np.zeros_like(moved)) + moved
                    idle[name] = idle[name] - moved
                    changed = True
    components = {
        name: _move_idle_cycles(part, waiting[name], idle[name]) if waiting[name] else part
        for name, part in states.components.items()
    }
    return states.model_copy(update={"components": components})


def with_starved_totals(components: Mapping[str, Component], states: StateTimeline) -> dict[str, Component]:
    """Return the components of a report with idle cycles moved to waits, as in states of the whole run.

    Args:
        components: components by name with their cycles in each state.
        states: a result of ``with_starved`` for the whole run.
    """
    waiting = {
        name: sum(sum(cycles) for state, cycles in part.states.items() if state.startswith("wait:"))
        for name, part in states.components.items()
    }
    return {
        name: part.model_copy(
            update={"input_stall": waiting[name], "idle": part.idle - (waiting[name] - part.input_stall)}
        )
        for name, part in components.items()
    }


def _active(
    name: str, writers: tuple[str, ...], idle: dict[str, Cycles], length: dict[str, Cycles]
) -> Cycles:
    """Return the cycles in which a producer is not idle, minus those in which the component is not idle."""
    shares = [
        1 - idle[writer] / np.maximum(length[writer], 1)
        for writer in writers
        if writer in idle and writer != name
    ]
    most = np.max(shares, axis=0) if shares else np.zeros(len(length[name]))
    active = length[name] - idle[name]
    return np.maximum(np.rint(most * length[name]).astype(np.int64) - active, 0)


def _move_idle_cycles(part: ComponentStates, waiting: dict[str, Cycles], idle: Cycles) -> ComponentStates:
    states, waits_for = dict(part.states), dict(part.waits_for)
    for port, cycles in waiting.items():
        label = f"wait:{port}"
        states[label] = (np.array(states.get(label, [0] * len(cycles))) + cycles).tolist()
        waits_for.setdefault(label, part.inputs[port])
    states["idle"] = idle.tolist()
    return part.model_copy(update={"states": states, "waits_for": waits_for})
