"""Gamma with its own merger and with ours: ``python run.py``."""

import fiberscope
from slow_merger import SlowMerger

MATRIX = "uniform:rows=300,cols=300,nonzeros=3000,seed=1"
SMALL = {"pe.count": 4, "memory.channels": 4}

shipped = fiberscope.simulate("gamma", MATRIX, settings=SMALL)
ours = fiberscope.simulate("gamma", MATRIX, settings=SMALL, parts={"merger": SlowMerger})

print(ours)
print(f"{shipped.cycles:,} cycles with Gamma's merger, {ours.cycles:,} with ours")
print(f"{ours.host.ticks_per_second / 1e6:.1f} M ticks/s")
