"""The simulation engine: kernel, clocks, channels, components, accounting and waveforms.

The engine and the hardware blocks are Python files. Cython compiles them with the C types of the ``.pxd``
file beside each. Set ``FIBERSCOPE_UNCOMPILED=1`` before the first import to run the same files uncompiled,
for debugging.
"""

from fiberscope.sim import import_mode

import_mode.install()

from fiberscope.sim.channel import Channel  # noqa: E402  (after import_mode.install)
from fiberscope.sim.clock import Clock  # noqa: E402
from fiberscope.sim.component import Component, Input, Output, Port, Signal  # noqa: E402
from fiberscope.sim.constants import NEVER  # noqa: E402
from fiberscope.sim.errors import BuildError, ChannelError, DeadlockError, SimulationError  # noqa: E402
from fiberscope.sim.kernel import Kernel  # noqa: E402
from fiberscope.sim.protocol import ANY, Protocol  # noqa: E402
from fiberscope.sim.statistics import ComponentStatistics, Run  # noqa: E402

if __name__ != "fiberscope.sim":  # a second name would create a second copy of every class
    raise ImportError(f"import fiberscope.{__name__} instead: {__name__} has no other name")

__all__ = [
    "ANY",
    "NEVER",
    "BuildError",
    "Channel",
    "ChannelError",
    "Clock",
    "Component",
    "ComponentStatistics",
    "DeadlockError",
    "Input",
    "Kernel",
    "Output",
    "Port",
    "Protocol",
    "Run",
    "Signal",
    "SimulationError",
]
