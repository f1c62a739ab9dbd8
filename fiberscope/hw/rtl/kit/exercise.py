"""Exercise of a module in a component's place during a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Event", "Exercise", "earliest"]

Event: TypeAlias = "tuple[int, str]"  # a cycle, and what happens in it


@dataclass(frozen=True)
class Exercise:
    """Events at the streams of a module, by their labels, and their comparison with its component.

    Args:
        tokens: those that moved.
        stalls: how many times it began to wait there, as its accounting has it: for a token at an input, for
            space at an output.
        output: the first cycle in which it sends another token than the component beside it, or sends one in
            another cycle; None where all outputs are the same, as of ``input``.
        input: the first cycle in which it takes an input that the component does not take, or the reverse.
        violation: the first cycle in which it breaks the protocol of its ports; None if it keeps it.
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
