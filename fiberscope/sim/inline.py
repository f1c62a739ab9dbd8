"""Short functions that C inlines: casts, channel operations by index, and host prefetches.

Interpreted code calls the functions here, compiled code the versions in ``inline.pxd``. Otherwise, compiled
code would check the type of each item that it reads from a list, and count a reference to the item. The cost
is measurable at every tick. The casts omit the check of the type, the channel operations omit both.

``index`` is the index of a channel in ``channels``. ``control``, ``coordinate``, ``reference`` and ``value``
require that the reader sees a token (``can_pop``), and do not check this.
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


def can_pop(channels: list[Channel], index: int) -> bool:
    """Return whether the reader sees a token in the channel at ``index``."""
    return channels[index].can_pop()


def control(channels: list[Channel], index: int) -> int:
    """Return the control word of the head token of the channel at ``index``."""
    return channels[index].control()


def coordinate(channels: list[Channel], index: int) -> int:
    """Return the coordinate of the head token of the channel at ``index``."""
    return channels[index].coordinate()


def reference(channels: list[Channel], index: int) -> int:
    """Return the reference of the head token of the channel at ``index``."""
    return channels[index].reference()


def value(channels: list[Channel], index: int) -> float:
    """Return the value of the head token of the channel at ``index``."""
    return channels[index].value()


def pop(channels: list[Channel], index: int) -> None:
    """Pop the head token of the channel at ``index``; raise ``ChannelError`` if no token is visible."""
    channels[index].pop()


def push(channels: list[Channel], index: int, control: int, coordinate: int, value: float) -> None:
    """Push a token without a reference into the channel at ``index``."""
    channels[index].push(control, coordinate, 0, value)


def fits(channels: list[Channel], index: int, tokens: int) -> bool:
    """Return whether the writer may push ``tokens`` tokens at ``index``; if not, wake it later."""
    return channels[index].fits(tokens)


def can_push(channels: list[Channel], index: int) -> bool:
    """Return whether the writer may push one token at ``index``; if not, the channel wakes it later."""
    return channels[index].can_push()


def is_empty(channels: list[Channel], index: int) -> bool:
    """Return whether the channel at ``index`` holds no token, visible or in flight."""
    return channels[index].occupancy == 0


def is_full(channels: list[Channel], index: int) -> bool:
    """Return whether the bounded channel at ``index`` holds as many tokens as its capacity.

    If not, ``can_push`` may still be false: a slot popped in this cycle is free from the next cycle.
    """
    return channels[index].occupancy == channels[index].capacity


def seen_from(channels: list[Channel], index: int) -> int:
    """Return the reader's cycle from which the head token is visible; ``MAX_TIME`` for an empty channel."""
    return channels[index]._seen_from


def prefetch(number: float) -> None:
    """Prefetch an array element into the host's cache. Interpreted code does nothing."""
