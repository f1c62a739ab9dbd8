"""Requests and replies of a stream prefetcher, see ``fiberscope.hw.memory.prefetch``."""

from fiberscope.sim.protocol import Protocol

STREAM_JOB = Protocol("stream job", coordinate="first", reference="end")
STREAM_STOP = Protocol("stream stop")
STREAM_ELEMENT = Protocol("stream element", control="kind", coordinate="element")

OPEN = -1  # instead of an end: the job goes on until it is stopped
