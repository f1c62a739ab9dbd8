"""Protocols of the ports of a stream prefetcher, see ``fiberscope.hw.memory.prefetch``."""

from fiberscope.sim.protocol import Protocol

# A job: the numbers of its first element and of the element after its last one, or ``OPEN``
STREAM_JOB = Protocol("stream job", coordinate="first", reference="end")
STREAM_STOP = Protocol("stream stop")  # each token ends the oldest job, which must be open
# The number of an element that has arrived (kind ``DATA``), or the end of a job (kind ``STOP``)
STREAM_ELEMENT = Protocol("stream element", control="kind", coordinate="element")

OPEN = -1  # value of ``end`` for a job that continues until it is stopped
