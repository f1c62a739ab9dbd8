"""A head of a stream of coordinates as one number, so that heads are compared at once.

Coordinates lie below N, N below stops, stops below done.
"""

NOTHING = -1  # no head has been loaded
EMPTY_KEY = 1 << 60
STOP_KEY = 1 << 61  # and the level
DONE_KEY = 1 << 62
