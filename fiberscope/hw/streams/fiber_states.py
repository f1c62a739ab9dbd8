"""States of a block that sends the elements of a fiber for each reference, such as a ``Scanner``.

- ``WANTS_FIBER``: the block waits for the next reference.
- ``OWES_STOP``: all elements are sent. The stop waits for the next token, which can raise its level.
- ``IN_FIBER``: elements of the fiber remain to be sent.
"""

WANTS_FIBER, OWES_STOP, IN_FIBER = range(3)
MODES = ("wants_fiber", "owes_stop", "in_fiber")  # names of the states in waveforms, by number
