"""The protocol of memory requests and replies, shared by requesters, networks, caches and DRAM channels.

A request is one token. ``control`` is the operation. ``coordinate`` is a tag, which the reply returns.
``reference`` is the byte address of a line; for the burst operations, it is an address within the burst. A
reply holds the operation, the tag and the address; memory replies to ``READ_BURST`` with ``READ``.

The bits of the tag from ``PORT_SHIFT`` up are the requester's port at its network, to which the network
routes the reply. The bits of the address from ``TENSOR_SHIFT`` up are the number of the tensor, and the
lower bits are a byte offset within the tensor. Every part of the memory system can therefore count traffic
by tensor.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

REQUEST = Protocol("memory request", control="operation", coordinate="tag", reference="address")
REPLY = Protocol("memory reply", control="operation", coordinate="tag", reference="address")

READ = 0  # read a line; the reply stands for its data
WRITE = 1  # write a whole line; a cache allocates it without a fetch and replies, memory does not reply
FETCH = 2  # bring a line into the cache before its use; no reply
CONSUME = 3  # read a line for the last time: the cache drops it without writing it back
WRITE_THROUGH = 4  # write a whole line to memory, not to the cache; no reply
WRITE_UNREAD = 5  # as WRITE, for a line of which no read is expected
# The names of the operations of a cache, each at the index of its number
OPERATIONS = ("read", "write", "fetch", "consume", "write_through", "write_unread")

# Operations of memory only, never of a cache: read or write the single burst that holds the address.
READ_BURST = 6
WRITE_BURST = 7

_NAMES = (*OPERATIONS, "read_burst", "write_burst")

PORT_SHIFT = 32  # bits of the requester's own part of a tag
TAG_MASK = 0xFFFFFFFF  # the requester's own part of a tag
TENSOR_SHIFT = 40  # a tensor has up to 2**40 bytes
TENSORS = 8  # maximum number of tensors that a machine distinguishes


def operation_name(operation: int) -> str:
    """Return the name of an operation; ``operation`` and its number if there is none of this number."""
    return _NAMES[operation] if 0 <= operation < len(_NAMES) else f"operation {operation}"


def refuse_reply(slot: int) -> NoReturn:
    """Raise ``SimulationError``: a component got a reply for a slot in which no request is open.

    The kernel adds the name of the component, and the cycle.
    """
    raise SimulationError(f"a reply for slot {slot}, which has no open request")


class HeldRequest(NamedTuple):
    """A request within a component, as the component's ``held_requests`` reports it to an observer.

    Args:
        operation, tag, address: fields of the request's token.
        place: text that says where in the component the request is, and what it waits for.
        since: cycle of the component in which the request arrived; None if unknown.
        forwarded: tag of the component's own request for which this request waits; None without one.
    """

    operation: int
    tag: int
    address: int
    place: str
    since: int | None = None
    forwarded: int | None = None
