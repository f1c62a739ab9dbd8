"""Report of the ports of an RTL module that a cosimulation has used, and of those that it has not.

Equal results prove nothing about ports at which no token moved, and about waits that did not occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fiberscope.hw.rtl.kit.exercise import Exercise
from fiberscope.results.report.parts import Component


def exercise_lines(instance: str, exercise: Exercise, component: Component) -> Iterator[str]:
    """Yield a line with the tokens and stalls of a module, and a line with what did not occur, if anything.

    Args:
        instance: instance name of the replaced component.
        exercise: counts of events at the ports of its module.
        component: the entry of the instance in the report of the run with RTL.
    """
    tokens, stalls = exercise.tokens, exercise.stalls
    yield (
        f"exercised at {instance}: {sum(tokens.values()):,} tokens, {sum(stalls.values()):,} stalls, "
        f"busy in {component.busy:,} of {component.cycles:,} cycles"
    )
    absent_events = [
        ("no token at", list(_never(tokens))),
        ("no stall at", list(_never(stalls))),
        ("counters at 0:", [name for name, count in component.counters.items() if not count]),
    ]
    lines = [f"{label} {', '.join(names)}" for label, names in absent_events if names]
    if lines:
        yield f"NOT exercised at {instance}: {'; '.join(lines)}"


def _never(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield the ports with a count of 0; for an array, with the number of such members."""
    for port, members in _by_port(counts).items():
        unused = members.count(0)
        if unused:
            yield port if len(members) == 1 else f"{port} ({unused} of {len(members)})"


def _by_port(counts: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the counts of each port; an array such as ``ways`` has one for each member, ``ways[3]``."""
    counts_by_port: dict[str, list[int]] = {}
    for label, count in counts.items():
        counts_by_port.setdefault(label.partition("[")[0], []).append(count)
    return counts_by_port
