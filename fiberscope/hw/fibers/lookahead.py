"""Memory layout of the records of a merger's ways and nodes, for lookahead models.

A lookahead model replaces components, and computes the cycles of their future events in advance.

Each way and each node has a record of ``RECORD`` words, which fills a line of the host's cache. The records
of the ways come first, then the records of the nodes. A word that holds a cycle is ``MAX_TIME`` if the cycle
is unknown.
"""

# Words of every record: the first token of the way, or of the buffer at the node's output.
KEY = 0  # the coordinate above WAY_BITS bits with the way, so that tokens leave in the order of their keys
SEEN = 1  # cycle from which the token is visible, MAX_TIME if there is no token
RECORD = 8  # words of a record
NUMBER = 3  # log2(RECORD): bits by which the first word of a record is shifted right to get its number
WAY_BITS = 8  # bits of a way's number, in a key
ENDED = 1 << 62  # key of a stop, larger than the key of every element
# Further words of the record of a way: its fiber, and counts of tokens.
ELEMENT = 2  # index of the first token's element in the operand or in the store of partial fibers
END = 3  # index after the last element of the fiber that has arrived
SOURCE = 4  # 2 s, with the input number s of ``TaskInputs.inputs``; 2 s + 1 if the fiber's stop has arrived
POPPED = 5  # tokens popped so far
PUSHED = 6  # tokens pushed so far
WANTED = 7  # value of POPPED at which the reader's next line fits the way; 0 if there is no next line
# Further words of the record of a node: the second token of its buffer, free slots, and its inputs.
SECOND_KEY = 2  # as KEY
SECOND_SEEN = 3  # as SEEN
ROOM = 4  # cycle from which a slot is free for the node's next token, MAX_TIME while no slot is free
NEXT_ROOM = 5  # cycle from which a slot is free for the token after the next one, or MAX_TIME
NEXT = 6  # first cycle in which the node can pass on its next token
LINKS = 7  # first words of: its first input, the record after its last input, its parent; LINK bits each
LINK = 16  # bits of a link
