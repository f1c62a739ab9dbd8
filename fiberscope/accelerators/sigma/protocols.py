"""Protocols between the parts of SIGMA."""

from fiberscope.sim.protocol import Protocol

PASS = Protocol("pass", coordinate="pass")
CHUNK = Protocol("chunk", coordinate="pass", reference="rows of vectors")  # scanned so far
LINE = Protocol("stationary line", coordinate="pass")
COLUMNS = Protocol("columns", control="columns", coordinate="pass", reference="first")
SUMS = Protocol("sums", control="columns", coordinate="pass", reference="first")
