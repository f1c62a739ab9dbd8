"""The networks that machines share: their parameters, and the crossbars to memory."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from accelerators.configuration import Configuration
from sim import Component, Kernel

__all__ = ["Network", "connect_memory"]


class Network(Configuration):
    """The wires and crossbars.

    ``pe_latency`` is of those between the processing elements and what serves them, ``memory_latency`` of
    those to memory, in cycles; ``queue`` is of each input of a crossbar, in tokens.
    """

    pe_latency: int = Field(ge=1, le=1000)
    memory_latency: int = Field(ge=1, le=1000)
    queue: int = Field(ge=2, le=1024)


def connect_memory(
    kernel: Kernel,
    network: Network,
    users: Sequence[tuple[Component, str, str]],
    crossbars: tuple[Component, Component],
    channels: Sequence[Component],
) -> None:
    """Connect the users of a memory with its channels, through a crossbar each way.

    Args:
        kernel: of all of them.
        network: its parameters.
        users: each with its ports for requests and for replies, the latter empty if it takes none; their
            places here are the numbers by which replies find them.
        crossbars: for requests and for replies.
        channels: of the memory.
    """
    requests, replies = crossbars
    latency = network.memory_latency
    capacity = network.queue + latency
    for i, (user, port, reply_port) in enumerate(users):
        kernel.connect(user, port, requests, f"inputs[{i}]", capacity=network.queue)
        if reply_port:
            kernel.connect(replies, f"outputs[{i}]", user, reply_port, capacity=capacity, latency=latency)
    for i, channel in enumerate(channels):
        kernel.connect(requests, f"outputs[{i}]", channel, "requests", capacity=capacity, latency=latency)
        kernel.connect(channel, "replies", replies, f"inputs[{i}]", capacity=network.queue)
