"""Layout in memory of the ways and nodes of a merger that is computed ahead of the clock, a record each.

The records of the ways come first, then those of the nodes; each is a line of the host's cache.
"""

# Words of both: the first token,
KEY = 0  # its coordinate and, in the lowest bits, its way: so keys are in the order in which they leave
SEEN = 1  # from when on it is seen, MAX_TIME if there is none
RECORD = 8
NUMBER = 3  # by so many bits a record's place is shifted for its number
WAY_BITS = 8
ENDED = 1 << 62  # the key of a stop
# of a way what of its fiber is left, and how many tokens there were,
ELEMENT = 2  # the head's place
END = 3  # the place behind the last that is there
SOURCE = 4  # 2 s, with s as in the table of tasks; 2 s + 1 if the fiber's stop is there
POPPED = 5
PUSHED = 6
WANTED = 7  # as many popped make room for the reader's next line
# of a node the token behind the first, if there is one, and its inputs.
SECOND_KEY = 2
SECOND_SEEN = 3
ROOM = 4  # from when on there is room for the next token, MAX_TIME while there is none
NEXT_ROOM = 5  # the same for the one behind it
NEXT = 6  # from when on the node may pass on
LINKS = 7  # where the records of its inputs begin and end, and that of its parent, so many bits each
LINK = 16
