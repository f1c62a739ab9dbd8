"""Keys: the head of a stream of coordinates as one number, so that one comparison orders two heads.

The key of a coordinate is the coordinate. Coordinates are smaller than N, N is smaller than stops, and
stops are smaller than done.
"""

NOTHING = -1  # in place of a key: no head has been loaded
EMPTY_KEY = 1 << 60  # key of an N
STOP_KEY = 1 << 61  # key of a stop of level 0; for a higher stop, its level is added
DONE_KEY = 1 << 62  # key of done
