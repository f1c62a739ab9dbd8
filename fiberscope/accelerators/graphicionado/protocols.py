"""Protocols of the tokens between Graphicionado's own components."""

from fiberscope.sim.protocol import Protocol

# Vertices of a stream from one to the one before the end, whose edges a reader brings.
SOURCES = Protocol("sources", control="kind", coordinate="first", reference="end", value="property")
# An edge on its way to its destination, an id in the whole graph, with its place among all weights.
EDGE = Protocol("edge", control="kind", coordinate="destination", reference="weight", value="property")
# A line of an array that is wanted, and is here; what is wanted of it comes back with it.
LINE = Protocol("line", control="kind", coordinate="line", reference="wanted")
APPLY = Protocol("apply", control="all")
