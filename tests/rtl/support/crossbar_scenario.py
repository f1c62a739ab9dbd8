"""The crossbar between requesters and memories: any output, one that all want, outputs of no power of two."""

import random
from dataclasses import replace

from rows_scenario import LanedScenario

from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT
from fiberscope.hw.networks.crossbar_rtl import ADDRESS, PORT, CrossbarParameters
from fiberscope.sim.testing import Token

TOKENS = 300


def _parameters(generator: random.Random) -> CrossbarParameters:
    return CrossbarParameters(
        inputs=generator.randint(1, 5),
        outputs=generator.randint(1, 6),
        route=generator.choice([ADDRESS, PORT]),
        interleave_bits=generator.choice([0, 6, 12]),
        group=generator.choice([1, 2, 3]),
        tag_bits=generator.choice([37, 48]),
        address_bits=generator.choice([20, 48, 64]),
    )


def _large(generator: random.Random) -> CrossbarParameters:
    inputs, outputs, route = generator.choice([(24, 12, ADDRESS), (12, 24, PORT), (4, 48, ADDRESS)])
    return CrossbarParameters(inputs, outputs, route)


def _inputs(
    generator: random.Random, given: CrossbarParameters, tokens: int = TOKENS
) -> dict[str, list[Token]]:
    hot = generator.choice([0.0, 0.5, 1.0])
    count = max(tokens // given.inputs, 40)
    outputs = range(min(given.outputs, max(1, (1 << given.tag_bits - PORT_SHIFT) // given.group)))
    return {
        f"inputs[{i}]": [_token(generator, given, _goal(generator, outputs, hot)) for _ in range(count)]
        for i in range(given.inputs)
    }


def _goal(generator: random.Random, outputs: range, hot: float) -> int:
    """The last that a tag can name, or any."""
    return outputs[-1] if generator.random() < hot else generator.choice(outputs)


def _token(generator: random.Random, given: CrossbarParameters, goal: int) -> Token:
    """One that goes to this output, for the rest anything; no token of memory has a value."""
    port = min(goal * given.group + generator.randrange(given.group), (1 << given.tag_bits - PORT_SHIFT) - 1)
    tag = port << PORT_SHIFT | generator.getrandbits(PORT_SHIFT)
    places = range(goal, 1 << given.address_bits - 1 - given.interleave_bits, given.outputs)
    place = generator.choice(places or [0])
    offset = generator.getrandbits(given.interleave_bits) if given.interleave_bits else 0
    return (generator.randrange(len(OPERATIONS)), tag, place << given.interleave_bits | offset, 0.0)


SCENARIO = LanedScenario("crossbar", _parameters, _inputs, ("outputs",), lanes="outputs")
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 240))
