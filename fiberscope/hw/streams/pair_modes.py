"""Modes of a ``FiberPairs``.

- ``WANTS_LISTS``: the block waits for the references of the next two lists.
- ``WALKS``: the block walks to the next match.
- ``MET``: the block has found a match, or still owes the stop of an earlier pair, and sends it.
- ``ENDED``: the lists have no further match. The stop waits for the next references, which can raise its
  level.
"""

WANTS_LISTS, WALKS, MET, ENDED = range(4)
MODES = ("wants_lists", "walks", "met", "ended")  # names of the modes in waveforms, by number
