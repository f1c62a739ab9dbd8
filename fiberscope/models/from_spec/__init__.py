"""Machines from their specification: the cascade of Einsums of one file, clocked.

The loops of each Einsum are cut behind the last one in space. What is in front becomes a stream graph that
makes tasks, what is behind one that every instance of the level has.
"""

PREFIX = "spec:"  # of a machine's name, before that of its specification
