"""Short functions that C inlines: casts, channel operations by index, and host prefetches.

Interpreted code calls the functions here, compiled code the versions in ``inline.pxd``. Otherwise, compiled
code would check the type of each item that it reads from a list, and count a reference to the item. The cost
is measurable at every tick. The casts omit the check of the type, the channel operations omit both.

``place`` is the index of a channel in ``channels``. ``control``, ``coordinate``, ``reference`` and ``value``
require that the reader sees a token (``shows``), and do not check this.
"""

from __future__ import annotations

from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.component import Component


def component(listed: Component) -> Component:
    """Cast an item of a list that holds only components. Compiled code does not check the type."""
    return listed


def clock(listed: Clock) -> Clock:
    """Cast an item of a list that holds only clocks. Compiled code does not check the type."""
    return listed


def channel(listed: Channel | None) -> Channel:
    """Cast an item of a list that is known to be a channel. Compiled code does not check the type."""
    return listed  # type: ignore[return-value]  # known not to be None


def shows(channels: list[Channel], place: int) -> bool:
    """Return whether the reader sees a token in the channel at ``place``."""
    return channels[place].can_pop()


def control(channels: list[Channel], place: int) -> int:
    """Return the control word of the head token of the channel at ``place``."""
    return channels[place].control()


def coordinate(channels: list[Channel], place: int) -> int:
    """Return the coordinate of the head token of the channel at ``place``."""
    return channels[place].coordinate()


def reference(channels: list[Channel], place: int) -> int:
    """Return the reference of the head token of the channel at ``place``."""
    return channels[place].reference()


def value(channels: list[Channel], place: int) -> float:
    """Return the value of the head token of the channel at ``place``."""
    return channels[place].value()


def pop(channels: list[Channel], place: int) -> None:
    """Pop the head token of the channel at ``place``; raise ``ChannelError`` if no token is visible."""
    channels[place].pop()


def push(channels: list[Channel], place: int, control: int, coordinate: int, value: float) -> None:
    """Push a token without a reference into the channel at ``place``."""
    channels[place].push(control, coordinate, 0, value)


def fits(channels: list[Channel], place: int, tokens: int) -> bool:
    """Return whether the writer may push ``tokens`` tokens at ``place``; if not, wake it later."""
    return channels[place].fits(tokens)


def takes(channels: list[Channel], place: int) -> bool:
    """Return whether the writer may push one token at ``place``; if not, the channel wakes it later."""
    return channels[place].can_push()


def empty(channels: list[Channel], place: int) -> bool:
    """Return whether the channel at ``place`` holds no token, visible or in flight."""
    return channels[place].occupancy == 0


def full(channels: list[Channel], place: int) -> bool:
    """Return whether the channel at ``place`` is at its capacity."""
    return channels[place].occupancy == channels[place].capacity


def seen_from(channels: list[Channel], place: int) -> int:
    """Return the reader's cycle from which the head token is visible; ``MAX_TIME`` for an empty channel."""
    return channels[place]._seen_from


def fetch(number: float) -> None:
    """Prefetch an array element into the host's cache. Interpreted code does nothing."""
