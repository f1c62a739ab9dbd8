"""The Benes networks: routed permutations and multicasts, settings at random, tasks of some vectors."""

import random
from dataclasses import replace

from rows_scenario import LanedScenario, by_lane, random_number, random_value

from fiberscope.hw.networks.benes import (
    FORMS,
    MINIMAL,
    count_columns,
    count_setting_bits,
    count_setting_rows,
    route_permutation,
)
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.networks.benes_rtl import LANES, BenesParameters
from fiberscope.hw.stream import EMPTY
from fiberscope.sim.testing import Token

TASKS = 25


def _parameters(generator: random.Random) -> BenesParameters:
    form, lanes = generator.choice(FORMS), generator.choice(LANES[:4])
    return BenesParameters(
        form,
        lanes,
        stages=generator.randint(0, count_columns(form, lanes)),
        vector_bits=generator.choice([4, 62]),
        coordinate_bits=generator.choice([1, 16, 62]),
        reference_bits=generator.choice([0, 1, 64]),
        value_bits=generator.choice([0, 32, 64]),
    )


def _large(generator: random.Random) -> BenesParameters:
    form, lanes = generator.choice([(FORMS[0], 64), (FORMS[1], 32), (FORMS[1], 64)])
    return BenesParameters(form, lanes, stages=generator.choice([0, 3]))


def _inputs(generator: random.Random, given: BenesParameters, tasks: int = TASKS) -> dict[str, list[Token]]:
    most = (1 << given.vector_bits) - 1
    lengths = [min(generator.choice([0, 1, 2, 7]), most) for _ in range(tasks)]
    lengths.append(min(most, 300 if given.lanes == LANES[0] else 15))  # beyond the half of a narrow counter
    settings = [[(0, bits, 0, 0.0) for bits in _settings(generator, given)] for _ in lengths]
    vectors = [[_token(generator, given) for _ in range(given.lanes)] for _ in range(sum(lengths))]
    return (
        {"tasks": [(0, length, 0, 0.0) for length in lengths]}
        | by_lane("settings", [settings])
        | by_lane("inputs", [vectors])
    )


def _settings(generator: random.Random, given: BenesParameters) -> list[int]:
    lanes = given.lanes
    if generator.random() < 0.3:
        bits = count_setting_bits(given.form, lanes)
        return [generator.getrandbits(bits) for _ in range(count_setting_rows(given.form, lanes))]
    if given.form == MINIMAL:
        return route_permutation(generator.sample(range(lanes), lanes))
    return MulticastRouter(lanes).route(generator.choices(range(lanes), k=lanes))


def _token(generator: random.Random, given: BenesParameters) -> Token:
    if generator.random() < 0.1:
        return (EMPTY, 0, 0, 0.0)
    limit = (1 << given.reference_bits) // 2
    reference = generator.randrange(-limit, limit) if limit else 0
    coordinate = random_number(generator, given.coordinate_bits)
    return (0, coordinate, reference, random_value(generator, given.value_bits))


SCENARIO = LanedScenario("benes", _parameters, _inputs, ("outputs",))
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 8))
