"""Declarations of the ports of blocks of the stream machine."""

from __future__ import annotations

from fiberscope.sim.component import Output
from fiberscope.sim.protocol import Protocol


def output_stream(name: str, carries: Protocol) -> Output:
    """Return the declaration of an output stream with any number of consumers, or none.

    Args:
        name: name of the port.
        carries: protocol of the stream.
    """
    return Output(name, carries, array=True, optional=True)
