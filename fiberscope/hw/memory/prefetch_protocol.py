"""Protocols of the ports of a stream prefetcher, see ``fiberscope.hw.memory.prefetch``."""

from fiberscope.sim.protocol import Protocol

STREAM_JOB = Protocol("stream job", coordinate="first", reference="end")
STREAM_STOP = Protocol("stream stop")
STREAM_ELEMENT = Protocol("stream element", control="kind", coordinate="element")

OPEN = -1  # value of ``end`` for a job that continues until it is stopped
