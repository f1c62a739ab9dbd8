"""The atomic update unit: few destinations that come again at once, many, and reads in between."""

import random
from dataclasses import replace

from fiber_streams import STOP_TOKEN
from scenario import Scenario

from fiberscope.hw.memory.atomic_update import ADD, MIN, MODES, OPERATIONS
from fiberscope.hw.memory.atomic_update_rtl import AtomicUpdateParameters
from fiberscope.hw.stream import DATA
from fiberscope.sim.testing import Token

UPDATES = 300


def _parameters(generator: random.Random) -> AtomicUpdateParameters:
    operation = generator.choice(OPERATIONS)
    return AtomicUpdateParameters(
        mode=generator.choice(MODES),
        operation=operation,
        entries=generator.choice([1, 2, 5, 16]),
        value_bits=generator.choice([2, 12, 32, 53] if operation == MIN else [12, 32, 53]),
        read_latency=generator.randint(1, 4),
        reduce_latency=generator.randint(1, 4),
        write_latency=generator.randint(1, 4),
    )


def _large(generator: random.Random) -> AtomicUpdateParameters:
    """The default, the window of a floating addition, and the longest."""
    latencies = generator.choice([(2, 1, 1), (2, 1, 1), (2, 4, 1), (8, 8, 8)])
    mode, operation = generator.choice(MODES), generator.choice(OPERATIONS)
    return AtomicUpdateParameters(mode, operation, generator.choice([256, 1024]), 32, *latencies)


def _inputs(
    generator: random.Random, given: AtomicUpdateParameters, updates: int = UPDATES
) -> dict[str, list[Token]]:
    """Destinations alike in their low bits, of which one is hot; stops and reads now and then."""
    hot = generator.random()
    places = [generator.randrange(given.entries) for _ in range(3)]
    places += [place ^ 1 << (given.entries - 1).bit_length() - 1 for place in places if given.entries > 1]
    places = [place for place in places if place < given.entries]
    tokens: list[Token] = []
    most = ((1 << given.value_bits - 1) - 1) // updates if generator.random() < 0.3 else None  # of a sum
    for _ in range(updates):
        near = places[0] if generator.random() < hot else generator.choice(places)
        place = near if generator.random() < 0.8 else generator.randrange(given.entries)
        tokens.append((DATA, place, 0, float(_value(generator, given) if most is None else most)))
        if generator.random() < 0.05:
            tokens.append(STOP_TOKEN)
    reads = [(0, generator.choice(places), 0, 0.0) for _ in range(generator.choice([updates // 3, updates]))]
    return {"updates": tokens, "reads": reads}


def _value(generator: random.Random, given: AtomicUpdateParameters) -> int:
    """Any, some of which differ from the neutral in one bit; of sums so small that all of them fit."""
    bits = given.value_bits - (UPDATES.bit_length() if given.operation == ADD else 0)
    if generator.random() < 0.1:
        return given.neutral ^ 1 << generator.randrange(bits - 1)
    return generator.randrange(-1 << bits - 1, 1 << bits - 1)


SCENARIO = Scenario("atomic_update", _parameters, _inputs, ("touched", "temporaries"))
LARGE = replace(SCENARIO, draw=_large)
