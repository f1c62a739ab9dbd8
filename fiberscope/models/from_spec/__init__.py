"""Cycle-accurate machines that are built from a specification: one file with a cascade of Einsums.

The loops of each Einsum are cut after the last loop in space. The loops before the cut become a stream graph
that makes tasks. The loops after the cut become a second stream graph, of which every instance of the level
has a copy.
"""

PREFIX = "spec:"  # first part of a machine's name; the name of the specification follows
