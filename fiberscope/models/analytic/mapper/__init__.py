"""The mapper: looks for the mapping of a problem on a machine that costs least."""
