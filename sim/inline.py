"""Casts that the C compiler puts in place of their calls: their compiled form stands in the ``.pxd``.

What comes out of a list has its type looked up, for a component among all ancestors of its class. That shows
in what happens at every tick.
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
