"""The crossbar with a FIFO a pair: permutations, one output that all want, and anything."""

import random
from dataclasses import replace

from rows_scenario import LanedScenario, random_value

from fiberscope.hw.networks.islip_rtl import IslipParameters
from fiberscope.hw.rtl.kit.sram import MEMORY_KINDS
from fiberscope.sim.testing import Token

TOKENS = 300


def _parameters(generator: random.Random) -> IslipParameters:
    return IslipParameters(
        inputs=generator.randint(1, 5),
        outputs=generator.choice([1, 2, 4]),
        depth=generator.choice([1, 2, 3, 8]),
        coordinate_bits=generator.choice([5, 32, 62]),
        reference_bits=generator.choice([0, 8, 64]),
        value_bits=generator.choice([0, 32, 64]),
        memory=generator.choice(MEMORY_KINDS),
    )


def _large(generator: random.Random) -> IslipParameters:
    inputs, outputs = generator.choice([(8, 8), (12, 2), (3, 16)])
    return IslipParameters(inputs, outputs, memory=generator.choice(MEMORY_KINDS))


def _inputs(generator: random.Random, given: IslipParameters, tokens: int = TOKENS) -> dict[str, list[Token]]:
    hot = generator.choice([0.0, 0.5, 1.0])
    count = max(tokens // given.inputs, 40)
    return {
        f"inputs[{i}]": [_token(generator, given, _goal(generator, given, hot, i)) for _ in range(count)]
        for i in range(given.inputs)
    }


def _goal(generator: random.Random, given: IslipParameters, hot: float, number: int) -> int:
    """Its own, the last, or any."""
    if generator.random() < hot:
        return given.outputs - 1
    return generator.choice([number % given.outputs, generator.randrange(given.outputs)])


def _token(generator: random.Random, given: IslipParameters, goal: int) -> Token:
    """Anything that goes to this output."""
    coordinate = generator.randrange(1 << given.coordinate_bits) // given.outputs * given.outputs + goal
    reference = generator.getrandbits(given.reference_bits) - (1 << given.reference_bits >> 1)
    return (generator.randrange(2), coordinate, reference, random_value(generator, given.value_bits))


SCENARIO = LanedScenario("islip", _parameters, _inputs, ("outputs",), lanes="outputs")
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 240))
