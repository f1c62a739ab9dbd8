"""What a buffet and its users say to one another (``hw/buffet.py``)."""

# Protocols of ports.
BUFFET_READ = "buffet read"  # control: operation, coordinate: index from the head, reference: entries to free
BUFFET_UPDATE = "buffet update"  # coordinate: index from the head; reference and value: the entry's new ones
CREDITS = "credits"  # coordinate: entries that may be filled

# Operations of a read.
READ = 0
READ_TO_UPDATE = 1  # an update of the same entry will follow
SHRINK = 2  # reads nothing
