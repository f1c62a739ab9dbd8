"""What runs a module, cycle by cycle: the interface of all backends, and PyRTL's own simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyrtl

from hw.rtl.kit.twin import Twin


class Backend(Protocol):
    """A module in a simulator, freshly reset."""

    def cycle(self, inputs: Mapping[str, int]) -> Mapping[str, int]:
        """Run one clock cycle.

        Args:
            inputs: the bits at every input of the module but clock and reset.

        Returns:
            The bits at every output as they are just before the rising edge that ends the cycle.
        """
        ...


class PyrtlBackend:
    """Runs a twin in PyRTL's ``FastSimulation``, which needs no HDL simulator."""

    def __init__(self, twin: Twin) -> None:
        with pyrtl.set_working_block(twin.block, no_sanity_check=True):
            self._simulation = pyrtl.FastSimulation(tracer=None, block=twin.block)
        self._outputs = [wire.name for wire in twin.interface.wires() if wire.direction == "output"]

    def cycle(self, inputs: Mapping[str, int]) -> Mapping[str, int]:
        """Run one clock cycle; see ``Backend``."""
        self._simulation.step(dict(inputs))
        return {name: self._simulation.inspect(name) for name in self._outputs}
