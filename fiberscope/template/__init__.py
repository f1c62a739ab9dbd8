"""The machine that ``fiberscope new machine`` writes, and the function that writes it."""
