"""The protocol of memory requests and replies, shared by requesters, networks, caches and DRAM channels.

A request is one token: ``control`` is the operation, ``coordinate`` a tag that comes back in the reply,
``reference`` the byte address of one line, or within one burst where only that is moved. A reply carries the
operation, the tag and the address. The tag's bits from ``PORT_SHIFT`` up are the requester's port at its
network, by which the reply finds its way back. An address is the tensor's number in the bits from
``TENSOR_SHIFT`` up and a byte offset within the tensor below, so that every part of the memory system can
count traffic by tensor.
"""

from __future__ import annotations

from typing import NamedTuple

from fiberscope.sim.protocol import Protocol

REQUEST = Protocol("memory request", control="operation", coordinate="tag", reference="address")
REPLY = Protocol("memory reply", control="operation", coordinate="tag", reference="address")

READ = 0  # a reply brings the line
WRITE = 1  # a whole line; a cache allocates it without fetching and acknowledges, memory does not reply
FETCH = 2  # bring a line into the cache ahead of its use; no reply
CONSUME = 3  # read a line for the last time: the cache drops it without writing it back
WRITE_THROUGH = 4  # a whole line past the cache to memory; no reply
WRITE_UNREAD = 5  # as a write, of a line that no read is to come for: the cache keeps it while there is room
OPERATIONS = ("read", "write", "fetch", "consume", "write_through", "write_unread")

# Of memory alone, past all caches: what lies in the one burst of the memory that holds the address.
READ_BURST = 6
WRITE_BURST = 7

PORT_SHIFT = 32
TAG_MASK = 0xFFFFFFFF  # the requester's own part of a tag
TENSOR_SHIFT = 40
TENSORS = 8  # tensors told apart by a machine, at the most


class HeldRequest(NamedTuple):
    """A request within a component, as its ``held_requests`` gives them to who watches from outside.

    Args:
        operation, tag, address: as in its token.
        place: where in the component it is, and what it needs there.
        since: the component's cycle in which it came, if that is known.
        forwarded: the tag of the component's own request that it waits for, if there is one.
    """

    operation: int
    tag: int
    address: int
    place: str
    since: int | None = None
    forwarded: int | None = None
