"""Requesters that share a port, some of whom take no replies, and replies to any of the others."""

import random
from dataclasses import replace

from rows_scenario import LanedScenario

from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT
from fiberscope.hw.networks.concentrator_rtl import ConcentratorParameters
from fiberscope.sim.testing import Token

TOKENS = 300


def _parameters(generator: random.Random) -> ConcentratorParameters:
    requesters = generator.randint(1, 5)
    return ConcentratorParameters(
        requesters,
        generator.randint(1, requesters),
        first_port=generator.choice([0, 7, 24]),
        tag_bits=generator.choice([37, 48]),
        address_bits=generator.choice([20, 48, 64]),
    )


def _large(generator: random.Random) -> ConcentratorParameters:
    requesters = generator.choice([12, 33])
    return ConcentratorParameters(requesters, requesters - 1, first_port=generator.choice([0, 1000]))


def _inputs(generator: random.Random, given: ConcentratorParameters) -> dict[str, list[Token]]:
    each = max(TOKENS // given.requesters, 20)
    requests = {
        f"inputs[{i}]": [_token(generator, given, 0) for _ in range(each)] for i in range(given.requesters)
    }
    ports = range(given.first_port, given.first_port + given.repliers)
    replies = [_token(generator, given, generator.choice(ports)) for _ in range(TOKENS)]
    return requests | {"replies": replies}


def _token(generator: random.Random, given: ConcentratorParameters, port: int) -> Token:
    tag = port << PORT_SHIFT | generator.getrandbits(PORT_SHIFT)
    return (generator.randrange(len(OPERATIONS)), tag, generator.getrandbits(given.address_bits - 1), 0.0)


SCENARIO = LanedScenario(
    "concentrator", _parameters, _inputs, ("outputs",), lanes="repliers", single=("requests",)
)
LARGE = replace(SCENARIO, draw=_large)
