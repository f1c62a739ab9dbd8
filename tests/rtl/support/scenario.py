"""How a block that has a twin is tried: random parameters, and random streams for given parameters.

Every block is tried twice over: small and long, where every branch is reached often; and large and short, at
sizes that people run and beyond, which small ones do not reach.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pairs import Around, Pair

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.sim import Component
from fiberscope.sim.testing import Token


@dataclass(frozen=True)
class Scenario:
    """How a block is tried.

    Args:
        block: its name in the catalogue, which says what its component is.
        draw: parameters.
        inputs: tokens by input port.
        outputs: the output ports.
        around: what stands at the other ports, as in ``pairs``.
    """

    block: str
    draw: Callable[[random.Random], Any]
    inputs: Callable[[random.Random, Any], Mapping[str, list[Token]]]
    outputs: tuple[str, ...]
    around: Around = lambda _kernel, _scope, _end, _generator: ()

    def drawn(self, seed: int) -> Any:
        """The parameters of a seed."""
        return self.draw(random.Random(seed))

    def component(self, name: str, parameters: Any) -> Component:
        """The component for these parameters."""
        make = BLOCKS[self.block].component
        assert make is not None, f"{self.block} is several components"
        return make(name, parameters)

    def filled(self, backend: Backend, _interface: Interface, _seed: int, _parameters: Any) -> Backend:
        """The module with what its memory holds for a seed; most have none that is filled."""
        return backend

    def pair(
        self,
        seed: int,
        parameters: Any = None,
        backend: Callable[[], Backend] | None = None,
        **kernel_options: Any,
    ) -> Pair:
        """Component and RTL for a seed; the RTL is the twin in PyRTL's simulation if no backend is given."""
        block = BLOCKS[self.block]
        parameters = parameters or self.drawn(seed)
        interface = block.interface(parameters)
        make = backend or (lambda: PyrtlBackend(block.twin(parameters), seed))
        return Pair(
            self.block,
            lambda name: self.component(name, parameters),
            lambda name: block.adapter(name, interface, make()),
            self.inputs(random.Random(seed), parameters),
            self.outputs,
            seed,
            kernel_options,
            self.around,
        )
