"""Mapper: search for the mapping of a problem on a machine with the lowest cost."""
