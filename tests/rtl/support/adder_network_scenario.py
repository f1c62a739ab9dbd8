"""The adder network: every segmentation of few leaves, random ones of many, with empty leaves and without."""

import random
from dataclasses import replace

from rows_scenario import LanedScenario, by_lane

from fiberscope.hw.lanes.adder_network_rtl import LEAVES, AdderNetworkParameters
from fiberscope.hw.stream import EMPTY
from fiberscope.sim.testing import Token

VECTORS = 80


def _parameters(generator: random.Random) -> AdderNetworkParameters:
    return AdderNetworkParameters(
        leaves=generator.choice(LEAVES[:4]),
        id_bits=generator.choice([2, 8, 62]),
        operand_bits=generator.choice([1, 7, 16, 32]),
    )


def _large(generator: random.Random) -> AdderNetworkParameters:
    return AdderNetworkParameters(leaves=generator.choice(LEAVES[-3:]))


def _inputs(
    generator: random.Random, given: AdderNetworkParameters, vectors: int = VECTORS
) -> dict[str, list[Token]]:
    rows = [_vector(generator, given) for _ in range(vectors)]
    return by_lane("leaves", [rows])


def _vector(generator: random.Random, given: AdderNetworkParameters) -> list[Token]:
    """Long neurons as often as short ones; ids that come again, and the largest operands, now and then."""
    cut = generator.choice([0.0, 0.02, 0.3, 0.9])
    gap = generator.choice([0.0, 0.1])
    most = (1 << given.operand_bits - 1) - 1
    largest = generator.random() < 0.1
    number = generator.getrandbits(given.id_bits)
    tokens: list[Token] = []
    for _ in range(given.leaves):
        if generator.random() < cut:
            number = (number + generator.choice([1, -1, 1 << given.id_bits - 1])) % (1 << given.id_bits)
        operand = -most - 1 if largest else generator.randint(-most - 1, most)
        empty = generator.random() < gap
        tokens.append((EMPTY, 0, 0, 0.0) if empty else (0, number, 0, float(operand)))
    return tokens


SCENARIO = LanedScenario("adder_network", _parameters, _inputs, ("sums",), lanes="leaves")
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 10))
