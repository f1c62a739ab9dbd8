"""What a buffet and its users say to one another (``hw/buffet.py``)."""

from sim.protocol import Protocol

# An index counts from the buffet's head; an update gives an entry its new reference and value.
BUFFET_READ = Protocol("buffet read", control="operation", coordinate="index", reference="shrink")
BUFFET_UPDATE = Protocol("buffet update", coordinate="index", reference="reference", value="value")
CREDITS = Protocol("credits", coordinate="entries")  # that may be filled

# Operations of a read.
READ = 0
READ_TO_UPDATE = 1  # an update of the same entry will follow
SHRINK = 2  # reads nothing
