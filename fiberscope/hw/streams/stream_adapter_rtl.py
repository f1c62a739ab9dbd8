"""Base of components that replace blocks of the stream machine by their RTL in a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.streams.memory_rtl import LOAD, OVERFLOW, STORE
from fiberscope.hw.streams.output import COUNTED
from fiberscope.hw.streams.tokens import DONE
from fiberscope.sim import ANY, Input, Output
from fiberscope.sim.channel import Channel

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend

# Ports that only the RTL has: the component gets its memory contents at construction, and keeps its results.
LOAD_PORT = Input(LOAD, ANY, optional=True)
STORE_PORT = Output(STORE, ANY, optional=True)
OVERFLOW_PORT = Output(OVERFLOW, ANY, optional=True)


class StreamAdapter(Adapter):
    """Component that replaces a ``StreamBlock`` by its RTL in a simulation.

    Accounting: a cycle counts as idle after done. Else it counts as waiting for output if a consumer has no
    free slot, as busy if a token moves, and otherwise as waiting for input.

    Subclasses override ``counters``, ``observe`` to follow the tokens, ``awaited`` if the block does not wait
    for its first missing input, and ``finished`` if done leaves on the outputs in different cycles.
    """

    HAS_DONE = True

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self.done = False
        self.moved: Counter[tuple[str, int]] = Counter()  # number of tokens by port and kind

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the tokens that move in this cycle, by port and kind."""
        for label, token in moved.items():
            self.moved[label, token.control] += 1

    def account(self, now: int, moved: Mapping[str, Any], _blocked: Channel | None) -> int:
        """Account for a cycle, see the class."""
        if self.done:
            return self.idle()
        full = self.held_up()
        if full is not None:
            return self.wait_output(full)
        if not moved:
            return self.wait_input(self.awaited())
        self.done = self.finished(moved)
        return self.busy(now + 1)

    def held_up(self) -> Channel | None:
        """Return the channel of the first output without a free slot, or None."""
        return self._first_held_up(end for end in self.ends if not (end.is_input or end.is_open))

    def finished(self, moved: Mapping[str, Any]) -> bool:
        """Return whether done leaves in this cycle, or is popped if the block has no output."""
        sinks = [end for end in self.ends if not end.is_input] or self.ends
        labels = {end.stream.label for end in sinks} & moved.keys()
        return any(moved[label].control == DONE for label in labels)

    def awaited(self) -> Channel:
        """Return the channel of the first input without a visible token."""
        channel = self._first_held_up(end for end in self.ends if end.is_input)
        assert channel is not None, "it moves where all inputs show a token and all outputs have space"
        return channel

    def counters(self) -> dict[str, int]:
        """Return the number of tokens of each output by kind."""
        return {
            counter: self.moved[end.stream.label, kind]
            for end in self.ends
            if not end.is_input
            for counter, kind in named_counters(end.stream.port[0]).items()
        }


def named_counters(port: str) -> dict[str, int]:
    """Return, for each counter of an output, the kind of token that it counts."""
    return {f"{port}_{label}": kind for label, kind in COUNTED}


def check_usual(usual: bool) -> None:
    """Raise an error for a block whose operators are redefined, or whose absent values are not 0.

    Args:
        usual: whether the block has its usual operator and the absent value 0.

    Raises:
        ValueError: if ``usual`` is false; this RTL does not exist for such a block.
    """
    if not usual:
        raise ValueError(
            "no hardware here computes operators of another meaning, or with absent values but 0"
        )
