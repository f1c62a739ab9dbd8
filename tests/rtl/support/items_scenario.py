"""The blocks of rows of MINT's converters: random items, with keys that come again and empty lanes."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

from fiber_streams import STOP_TOKEN
from rows_scenario import LANES, MANY_LANES, LanedScenario, by_lane, random_arrays, random_number

from fiberscope.hw.lanes.cluster_counter_rtl import ClusterCounterParameters
from fiberscope.hw.lanes.comparator_bank import TESTS
from fiberscope.hw.lanes.comparator_bank_rtl import ComparatorBankParameters
from fiberscope.hw.lanes.items_rtl import ItemParameters
from fiberscope.hw.lanes.packer_rtl import PackerParameters
from fiberscope.hw.lanes.position_multiplier_rtl import PositionMultiplierParameters
from fiberscope.hw.lanes.sorting_network_rtl import SortingNetworkParameters
from fiberscope.hw.stream import EMPTY
from fiberscope.sim.testing import Token

ROWS = 60
LARGE_ROWS = 12
EMPTY_TOKEN = (EMPTY, 0, 0, 0.0)
Arrays = list[list[list[Token]]]


def _widths(generator: random.Random) -> dict[str, int]:
    return {
        "width": generator.choice([1, 3, 8, 32, 62]),
        "reference_bits": generator.choice([0, 1, 16, 64]),
        "word_bits": generator.choice([0, 1, 33, 53]),
    }


def items(generator: random.Random, given: ItemParameters) -> Callable[[], Token]:
    """What draws an item; mostly of a few keys, two of which differ in the highest bit alone."""

    top = 1 << given.width - 1
    again = generator.choice([0.0, 0.5, 0.97])  # how often a key comes again at once
    last = 0

    def element() -> Token:
        nonlocal last
        few = generator.choice([0, 0, 0, 0, top, 1 % (1 << given.width)])
        coordinate = generator.choice([few, few, few, random_number(generator, given.width)])
        last = coordinate = last if generator.random() < again else coordinate
        word = generator.choice([0, _signed(generator, given.word_bits)])
        return (0, coordinate, _signed(generator, given.reference_bits), float(word))

    return element


def _signed(generator: random.Random, bits: int) -> int:
    """Any number of so many bits; now and then a lone bit."""
    limit = (1 << bits) // 2
    if bits > 1 and generator.random() < 0.2:
        return 1 << generator.randrange(bits - 1)
    return generator.randrange(-limit, limit) if limit else 0


def with_gaps(generator: random.Random, arrays: Arrays) -> Arrays:
    """The arrays with empty lanes here and there, in some of them many."""
    gapped: Arrays = []
    for rows in arrays:
        chance = generator.choice([0.0, 0.2, 0.8])
        gapped.append(
            [
                [EMPTY_TOKEN if token[0] == 0 and generator.random() < chance else token for token in row]
                for row in rows
            ]
        )
    return gapped


def clusters(lanes: int, rows: list[list[Token]]) -> list[list[Token]]:
    """Rows of keys with their ranks among equal neighbours as references."""
    ranked = []
    for row in rows:
        elements = [token for token in row if token[0] == 0]
        made = [
            (0, key, rank, value)
            for key, cluster in groupby(elements, key=lambda token: token[1])
            for rank, (_, _, _, value) in enumerate(cluster)
        ]
        ranked.append(made + [STOP_TOKEN] * (lanes - len(made)))
    return ranked


def _sorter(generator: random.Random) -> SortingNetworkParameters:
    return SortingNetworkParameters(lanes=generator.choice([2, 4, 8]), **_widths(generator))


def _large_sorter(generator: random.Random) -> SortingNetworkParameters:
    return SortingNetworkParameters(lanes=generator.choice([16, 32]))


def _counter(generator: random.Random) -> ClusterCounterParameters:
    return ClusterCounterParameters(lanes=generator.choice(LANES), **_widths(generator))


def _large_counter(generator: random.Random) -> ClusterCounterParameters:
    return ClusterCounterParameters(lanes=generator.choice(MANY_LANES))


def _bank(generator: random.Random) -> ComparatorBankParameters:
    widths = _widths(generator)
    return ComparatorBankParameters(
        lanes=generator.choice(LANES), test=TESTS[not widths["word_bits"] or generator.randrange(2)], **widths
    )


def _large_bank(generator: random.Random) -> ComparatorBankParameters:
    return ComparatorBankParameters(lanes=generator.choice(MANY_LANES), test=generator.choice(TESTS))


def _multiplier(generator: random.Random) -> PositionMultiplierParameters:
    return PositionMultiplierParameters(
        width=generator.choice([1, 2, 4, 8, 32, 36]),
        word_bits=generator.choice([0, 33, 53]),
        lanes=generator.choice(LANES),
    )


def _large_multiplier(generator: random.Random) -> PositionMultiplierParameters:
    return PositionMultiplierParameters(lanes=generator.choice(MANY_LANES))


def _packer(generator: random.Random) -> PackerParameters:
    return PackerParameters(
        inputs=generator.choice(LANES), outputs=generator.choice(LANES), **_widths(generator)
    )


def _large_packer(generator: random.Random) -> PackerParameters:
    inputs, outputs = generator.choice([(3, 32), (32, 16), (16, 8), (8, 16)])
    return PackerParameters(inputs=inputs, outputs=outputs)


Inputs = Callable[..., dict[str, list[Token]]]


def _plain(port: str, lanes: str = "lanes", *, gaps: bool = False) -> Inputs:
    def inputs(generator: random.Random, given: Any, rows: int = ROWS) -> dict[str, list[Token]]:
        arrays = random_arrays(generator, getattr(given, lanes), rows, items(generator, given))
        return by_lane(port, with_gaps(generator, arrays) if gaps else arrays)

    return inputs


def _products(
    generator: random.Random, given: PositionMultiplierParameters, rows: int = ROWS
) -> dict[str, list[Token]]:
    def element() -> Token:
        _, number, _, value = items(generator, given)()
        return (0, number, random_number(generator, given.width), value)

    arrays = random_arrays(generator, given.lanes, rows, element)
    factors = [generator.choice([0, 1, random_number(generator, given.width)]) for _ in arrays]
    return {"factors": [(0, factor, 0, 0.0) for factor in factors]} | by_lane("lanes", arrays)


def _large(scenario: LanedScenario, draw: Callable[[random.Random], Any]) -> LanedScenario:
    few: Inputs = scenario.inputs
    return replace(scenario, draw=draw, inputs=lambda generator, given: few(generator, given, LARGE_ROWS))


SORTING_NETWORK = LanedScenario("sorting_network", _sorter, _plain("lanes"), ("sorted",))
CLUSTER_COUNTER = LanedScenario("cluster_counter", _counter, _plain("sorted"), ("clusters",))
COMPARATOR_BANK = LanedScenario("comparator_bank", _bank, _plain("lanes", gaps=True), ("flags", "kept"))
POSITION_MULTIPLIER = LanedScenario("position_multiplier", _multiplier, _products, ("products",))
PACKER = LanedScenario("packer", _packer, _plain("lanes", "inputs", gaps=True), ("packed",), lanes="outputs")
LARGE_SORTING_NETWORK = _large(SORTING_NETWORK, _large_sorter)
LARGE_CLUSTER_COUNTER = _large(CLUSTER_COUNTER, _large_counter)
LARGE_COMPARATOR_BANK = _large(COMPARATOR_BANK, _large_bank)
LARGE_POSITION_MULTIPLIER = _large(POSITION_MULTIPLIER, _large_multiplier)
LARGE_PACKER = _large(PACKER, _large_packer)
