"""Protocols of the tokens between Graphicionado's own components."""

from fiberscope.sim.protocol import Protocol

# The vertices ``first`` to ``end`` - 1 of a stream, whose edges a reader fetches.
SOURCES = Protocol("sources", control="kind", coordinate="first", reference="end", value="property")
# An edge on its way to its destination. The destination is an id in the whole graph; ``weight`` is an index.
EDGE = Protocol("edge", control="kind", coordinate="destination", reference="weight", value="property")
# A line of an array that is requested, or has arrived. The reply repeats the ``wanted`` field of the request.
LINE = Protocol("line", control="kind", coordinate="line", reference="wanted")
APPLY = Protocol("apply", control="all")
