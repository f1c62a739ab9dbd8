"""Events at the ports of a module that replaces a component, over a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Event: TypeAlias = "tuple[int, str]"  # a cycle, and what happens in it


@dataclass(frozen=True)
class Exercise:
    """Events at the streams of a module, by label, and the comparison with its component.

    Args:
        tokens: tokens that moved.
        stalls: number of waits in the accounting: for a token at an input, for space at an output.
        output: the first cycle in which an output token, or its cycle, differs from the component; None if
            none.
        input: the first cycle in which only one of module and component takes an input token; None if none.
        violation: the first violation of the protocol of the ports; None if none.
        bins: counts of events at each stream, by kind; None without coverage.
    """

    tokens: Mapping[str, int]
    stalls: Mapping[str, int]
    output: Event | None = None
    input: Event | None = None
    violation: Event | None = None
    bins: Mapping[str, Mapping[str, int]] | None = None


def earliest(events: Iterable[Event | None]) -> str | None:
    """Return the text of the event in the first cycle, None if there is no event."""
    present = [event for event in events if event is not None]
    return min(present)[1] if present else None
