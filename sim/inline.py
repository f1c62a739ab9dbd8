"""What the C compiler puts in place of calls: casts, looks, and what the host is to fetch, see the ``.pxd``.

What comes out of a list has its type looked up, for a component among all ancestors of its class, and is
counted as held. That shows in what happens at every tick.
"""

from __future__ import annotations

from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.component import Component


def component(listed: Component) -> Component:
    """What comes out of a list that holds only components; not looked at when compiled."""
    return listed


def clock(listed: Clock) -> Clock:
    """What comes out of a list that holds only clocks; not looked at when compiled."""
    return listed


def channel(listed: Channel) -> Channel:
    """What comes out of a list that holds only channels; not looked at when compiled."""
    return listed


def shows(channels: list[Channel], place: int) -> bool:
    """Whether the reader of a list of channels sees a token in one."""
    return channels[place].can_pop()


def takes(channels: list[Channel], place: int) -> bool:
    """Whether the writer of a list of channels may push into one."""
    return channels[place].can_push()


def fetch(number: float) -> None:
    """Have the host fetch an element of an array that is needed soon."""
