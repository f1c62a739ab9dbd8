"""Products one after another, each on a machine as by itself: ``Y = A X; Z = Y W``."""
