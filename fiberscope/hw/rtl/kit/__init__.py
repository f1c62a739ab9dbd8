"""Kit for twins: interfaces of streams, parameters, logic, stand-ins, and the composition of blocks."""
