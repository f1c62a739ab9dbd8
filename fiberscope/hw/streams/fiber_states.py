"""States of a block that closes fibers; numbers that compiled modules share."""

WANTS_FIBER, OWES_STOP, IN_FIBER = range(3)
MODES = ("wants_fiber", "owes_stop", "in_fiber")  # their names
