"""Counts and errors at the ports of a module that replaces a component, over a run.

The *exercise* of a module says how much a run has used its ports, and whether the module behaved as its
component.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Event: TypeAlias = "tuple[int, str]"  # a cycle, and what happens in it


@dataclass(frozen=True)
class Exercise:
    """The exercise of one module. Streams are named by their labels, such as ``tasks`` or ``ways[3]``.

    Args:
        tokens: number of tokens that moved, by stream.
        stalls: number of times, by stream, that the accounting of cycles began to count a wait there: for a
            token at an input, for space at an output.
        output: the first cycle in which an output token, or its cycle, differs from the component; None if
            none.
        input: the first cycle in which only one of module and component takes an input token; None if none.
        violation: the first violation of the protocol of the ports; None if none.
        bins: counts of events, by stream and kind (``port_coverage``); None if coverage is off.
    """

    tokens: Mapping[str, int]
    stalls: Mapping[str, int]
    output: Event | None = None
    input: Event | None = None
    violation: Event | None = None
    bins: Mapping[str, Mapping[str, int]] | None = None


def earliest(events: Iterable[Event | None]) -> str | None:
    """Return the text of the event with the lowest cycle; None if there is no event."""
    present = [event for event in events if event is not None]
    return min(present)[1] if present else None
