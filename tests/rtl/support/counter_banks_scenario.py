"""Counters in banks: commands of every kind, rows with clusters, gaps and conflicts."""

import random
from dataclasses import dataclass, replace
from itertools import groupby

from fiber_streams import STOP_TOKEN
from items_scenario import EMPTY_TOKEN
from pairs import Pair
from rows_scenario import by_lane
from scenario import Scenario

from fiberscope.hw.lanes.counter_banks_rtl import CounterBanksParameters
from fiberscope.hw.lanes.counter_protocol import COUNT, FETCH, READ, SCAN
from fiberscope.sim.testing import Token

COMMANDS = 32
LARGE_COMMANDS = 5


@dataclass(frozen=True)
class CounterScenario(Scenario):
    """A scenario whose outputs are as many as two parameters say."""

    def pair(self, seed, parameters=None, *arguments, **options) -> Pair:  # type: ignore[no-untyped-def]
        """See ``Scenario``."""
        parameters = parameters or self.drawn(seed)
        outputs = [f"slots[{lane}]" for lane in range(parameters.fetch_lanes or parameters.lanes)]
        outputs += [
            f"{port}[{lane}]" for port in ("counts", "stored") for lane in range(parameters.sweep_lanes)
        ]
        return replace(super().pair(seed, parameters, *arguments, **options), outputs=tuple(outputs))


def _parameters(generator: random.Random) -> CounterBanksParameters:
    lanes, banks = generator.choice([1, 2, 4, 8]), generator.choice([0, 1, 2, 4, 8])
    return CounterBanksParameters(
        counters=generator.choice([1, 5, 16, 37]),
        lanes=lanes,
        sweep_lanes=(banks or lanes) * generator.choice([1, 2, 4]),
        fetch_lanes=generator.choice([0, 1, 3, 8]),
        banks=banks,
        counter_bits=generator.choice([16, 32, 62]),
        word_bits=generator.choice([0, 33, 53]),
    )


def _large(generator: random.Random) -> CounterBanksParameters:
    lanes = generator.choice([16, 32])
    return CounterBanksParameters(300, lanes, sweep_lanes=32, fetch_lanes=generator.choice([0, 1, 32]))


def _row(generator: random.Random, given: CounterBanksParameters, count: int) -> list[Token]:
    """Clusters of so many items in all, with empty lanes between; in some all of one bank."""
    step = generator.choice([1, given.shape.banks])
    some = range(generator.randrange(given.counters), given.counters, step)
    indices = [generator.choice(some) for _ in range(count)]
    if generator.random() < 0.7:
        indices.sort()
    row = []
    for index, cluster in groupby(indices):
        for rank, _ in enumerate(cluster):
            row.append((0, index, rank, float(generator.randrange(256)) if given.word_bits else 0.0))
    if generator.random() < 0.3:
        row = row[: count // 2]
        row = [token for pair in zip(row, [EMPTY_TOKEN] * len(row), strict=True) for token in pair]
    return row


def _array(generator: random.Random, given: CounterBanksParameters, lanes: int) -> list[list[Token]]:
    full = [_row(generator, given, lanes) for _ in range(generator.choice([0, 1, 3]))]
    rows = [row + [EMPTY_TOKEN] * (lanes - len(row)) for row in full]
    last = _row(generator, given, generator.randrange(lanes))[: lanes - 1]
    return [*rows, last + [STOP_TOKEN] * (lanes - len(last))]


def _inputs(
    generator: random.Random, given: CounterBanksParameters, commands: int = COMMANDS
) -> dict[str, list[Token]]:
    kinds = [generator.choice([COUNT, FETCH, FETCH, SCAN, READ]) for _ in range(commands)]
    tokens, updates, fetches, starts = [], [], [], []
    for kind in kinds:
        count = generator.choice([given.counters, generator.randint(0, given.counters)])
        tokens.append((kind, count, 0, 0.0))
        if kind == FETCH and given.fetch_lanes:
            fetches.append(_array(generator, given, given.fetch_lanes))
        elif kind in (COUNT, FETCH):
            updates.append(_array(generator, given, given.lanes))
        elif kind == SCAN:
            sums = [(0, generator.randrange(1 << 12), 0, 0.0) for _ in range(count)]
            sums += [STOP_TOKEN] * (given.sweep_lanes - count % given.sweep_lanes)
            starts.append([sums[i : i + given.sweep_lanes] for i in range(0, len(sums), given.sweep_lanes)])
    streams = {"commands": tokens}
    for port, lanes, arrays in (
        ("updates", given.lanes, updates),
        ("fetches", given.fetch_lanes, fetches),
        ("starts", given.sweep_lanes, starts),
    ):
        streams |= by_lane(port, arrays) or {f"{port}[{i}]": [] for i in range(lanes)}
    return streams


SCENARIO = CounterScenario("counter_banks", _parameters, _inputs, ())
LARGE = replace(
    SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, LARGE_COMMANDS)
)
