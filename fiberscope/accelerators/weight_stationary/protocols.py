"""Protocols between the parts of the array."""

from fiberscope.sim.protocol import Protocol

WORDS, END = range(2)  # kinds of a beat: elements of A, or the end of the pass

BEAT = Protocol("beat", control="kind", coordinate="beat")
SUM = Protocol("sum", coordinate="row", reference="column", value="value")
