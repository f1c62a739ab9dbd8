"""What twins are made of: interfaces of streams, parameters, logic, stand-ins, and the joining of blocks."""
