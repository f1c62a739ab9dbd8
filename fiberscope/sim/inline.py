"""Replacements of calls for the C compiler: casts, polls, and host prefetches, see the ``.pxd``.

What comes out of a list has its type looked up, for a component among all ancestors of its class, and is
counted as held. That shows in what happens at every tick.
"""

from __future__ import annotations

from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.component import Component


def component(listed: Component) -> Component:
    """Cast an item of a list that holds only components; not checked when compiled."""
    return listed


def clock(listed: Clock) -> Clock:
    """Cast an item of a list that holds only clocks; not checked when compiled."""
    return listed


def channel(listed: Channel) -> Channel:
    """Cast an item of a list that holds only channels; not checked when compiled."""
    return listed


def shows(channels: list[Channel], place: int) -> bool:
    """Return whether the reader of a list of channels sees a token in one."""
    return channels[place].can_pop()


def control(channels: list[Channel], place: int) -> int:
    """Control word of the token that is seen in one of a list."""
    return channels[place].control()


def coordinate(channels: list[Channel], place: int) -> int:
    """Return the coordinate."""
    return channels[place].coordinate()


def reference(channels: list[Channel], place: int) -> int:
    """Return the reference."""
    return channels[place].reference()


def value(channels: list[Channel], place: int) -> float:
    """Return the value."""
    return channels[place].value()


def pop(channels: list[Channel], place: int) -> None:
    """Drop it."""
    channels[place].pop()


def push(channels: list[Channel], place: int, control: int, coordinate: int, value: float) -> None:
    """Append a token without a reference to one."""
    channels[place].push(control, coordinate, 0, value)


def fits(channels: list[Channel], place: int, tokens: int) -> bool:
    """Return whether the writer of a list of channels may push so many tokens into one."""
    return channels[place].fits(tokens)


def takes(channels: list[Channel], place: int) -> bool:
    """Return whether the writer of a list of channels may push into one."""
    return channels[place].can_push()


def empty(channels: list[Channel], place: int) -> bool:
    """Return whether one of a list of channels holds no token, seen yet or not."""
    return channels[place].occupancy == 0


def full(channels: list[Channel], place: int) -> bool:
    """Return whether it holds as many as it can."""
    return channels[place].occupancy == channels[place].capacity


def seen_from(channels: list[Channel], place: int) -> int:
    """The reader's cycle from which its head is seen, ``MAX_TIME`` if there is none."""
    return channels[place]._seen_from


def fetch(number: float) -> None:
    """Have the host fetch an element of an array that is needed soon."""
