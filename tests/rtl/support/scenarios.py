"""For each block that has a twin: random parameters, and random streams for given parameters."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fiber_streams import merge_inputs
from pairs import Pair
from streams import Token

from hw.merge import HighRadixMerger
from hw.rtl.backend import Backend, PyrtlBackend
from hw.rtl.catalogue import BLOCKS
from hw.rtl.merger import MergerParameters
from sim import Component

RADICES = (2, 3, 4, 5, 7, 8, 13, 16)


@dataclass(frozen=True)
class Scenario:
    """How a block is tried.

    Args:
        block: its name in the catalogue.
        component: makes the component for a name and parameters.
        draw: parameters.
        inputs: tokens by input port.
        outputs: the output ports.
    """

    block: str
    component: Callable[[str, Any], Component]
    draw: Callable[[random.Random], Any]
    inputs: Callable[[random.Random, Any], Mapping[str, list[Token]]]
    outputs: tuple[str, ...]

    def drawn(self, seed: int) -> Any:
        """The parameters of a seed."""
        return self.draw(random.Random(seed))

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
        make = backend or (lambda: PyrtlBackend(block.twin(parameters)))
        return Pair(
            self.block,
            lambda name: self.component(name, parameters),
            lambda name: block.stand_in(name, interface, make()),
            self.inputs(random.Random(seed), parameters),
            self.outputs,
            seed,
            kernel_options,
        )


def _merger_parameters(generator: random.Random) -> MergerParameters:
    return MergerParameters(
        radix=generator.choice(RADICES),
        coordinate_bits=generator.choice([1, 8, 32, 55]),
        reference_bits=generator.choice([1, 16, 64]),
        value_bits=generator.choice([32, 64]),
    )


def _merger_inputs(generator: random.Random, given: MergerParameters) -> dict[str, list[Token]]:
    return merge_inputs(generator, given.radix, 40, 20, given.coordinate_bits, given.reference_bits)


SCENARIOS = {
    scenario.block: scenario
    for scenario in (
        Scenario(
            "merger",
            lambda name, given: HighRadixMerger(name, given.radix),
            _merger_parameters,
            _merger_inputs,
            ("merged",),
        ),
    )
}
