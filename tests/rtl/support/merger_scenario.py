"""The merger: random merges of random fibers."""

import random
from dataclasses import replace

from fiber_streams import merge_inputs
from scenario import Scenario

from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.sim.testing import Token

RADICES = (2, 3, 4, 5, 7, 8, 13, 16)


def _merger_parameters(generator: random.Random) -> MergerParameters:
    drawn = MergerParameters(
        radix=generator.choice(RADICES),
        coordinate_bits=generator.choice([1, 8, 32, 55]),
        reference_bits=generator.choice([1, 16, 64]),
        value_bits=generator.choice([32, 64]),
        stages=generator.choice([1, 1, 2, 3, 4, 6]),
    )
    if drawn.value_bits == 32 and drawn.reference_bits == 16:
        return replace(drawn, values="whole")
    if drawn.value_bits == 32 and drawn.reference_bits == 1:
        return replace(drawn, values="bfloat", value_bits=16)
    return drawn


def _merger_inputs(generator: random.Random, given: MergerParameters) -> dict[str, list[Token]]:
    inputs = merge_inputs(generator, given.radix, 40, 20, given.coordinate_bits, given.reference_bits)
    return _of_kind(inputs, given.values)


def _of_kind(inputs: dict[str, list[Token]], values: str) -> dict[str, list[Token]]:
    """The inputs, with values that the kind has exactly."""
    if values == "float":
        return inputs
    most = {"whole": 999, "bfloat": 255}[values]
    return {
        label: [
            (*token[:3], float(token[1] % (2 * most + 1) - most) if token[3] else 0.0) for token in tokens
        ]
        for label, tokens in inputs.items()
    }


def _large(generator: random.Random) -> MergerParameters:
    radix, stages = generator.choice([33, 48, 64]), generator.choice([1, 2, 6, 6])
    return MergerParameters(radix=radix, stages=stages, scale_bits=64)


def _large_inputs(generator: random.Random, given: MergerParameters) -> dict[str, list[Token]]:
    inputs = merge_inputs(generator, given.radix, 12, 8, given.coordinate_bits, given.reference_bits)
    return _of_kind(inputs, given.values)


SCENARIO = Scenario("merger", _merger_parameters, _merger_inputs, ("merged",))
LARGE = replace(SCENARIO, draw=_large, inputs=_large_inputs)
