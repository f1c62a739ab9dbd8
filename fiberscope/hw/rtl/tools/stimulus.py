"""Typical stimulus of a block whose energy is measured outside of a machine.

A stimulus is a list of tokens for each input port. Fibers, rows and lists have typical lengths, and numbers
are uniform in the given bits, all determined by a seed. The tests of the RTL draw unusual stimulus instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from fiberscope.hw.fibers.arithmetic_rtl import AccumulatorParameters
from fiberscope.hw.fibers.intersect_rtl import SkipAheadParameters, TwoFingerParameters
from fiberscope.hw.fibers.sorted_head_rtl import SortedHeadParameters
from fiberscope.hw.lanes.adder_network_rtl import AdderNetworkParameters
from fiberscope.hw.lanes.divider_rtl import DividerParameters
from fiberscope.hw.lanes.prefix_sum_rtl import PrefixSumParameters
from fiberscope.hw.networks.benes import MINIMAL, route_permutation
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.networks.benes_rtl import BenesParameters
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.stream import DATA, EMPTY, STOP
from fiberscope.sim.testing import Token

Inputs: TypeAlias = dict[str, list[Token]]
STOP_TOKEN: Token = (STOP, 0, 0, 0.0)
FIBERS = 40  # or rows, lists, tasks
LENGTH = 16  # elements of a fiber
SPAN = 64  # range of its coordinates
DIVISOR_BITS = 8
NUMBER_BITS = 16
COLUMN_BITS = 13  # bits of a column, as in wiki-Vote


def stimulus(block: str, parameters: Parameters, seed: int = 1) -> Inputs:
    """Return the tokens at each input port of a block.

    Args:
        block: name of the block, one of ``STIMULI``.
        parameters: its parameters, which bound numbers and lanes.
        seed: seed of the random numbers.

    Raises:
        KeyError: the block has no stimulus.
    """
    return STIMULI[block](random.Random(seed), parameters)


def output_ports(interface: Interface, adapter: type[Adapter]) -> list[str]:
    """Return the labels of the outputs of required ports, each lane of a bundle included."""
    optional = {port.name for port in adapter.PORTS if port.optional}
    return [
        label
        for stream in interface.streams
        if stream.direction == "output" and not stream.lane and stream.port[0] not in optional
        for label in stream.labels
    ]


def _by_lane(port: str, rows: Sequence[Sequence[Token]]) -> Inputs:
    """Return the tokens of rows for each member of an array of ports."""
    return {f"{port}[{lane}]": list(tokens) for lane, tokens in enumerate(zip(*rows, strict=True))}


def _value(generator: random.Random) -> float:
    """Return a random number that FP32 represents exactly."""
    return generator.getrandbits(24) / (1 << 20)


def _intersector(generator: random.Random, parameters: TwoFingerParameters | SkipAheadParameters) -> Inputs:
    """Return pairs of fibers, each with a quarter of ``SPAN``; on average, a quarter of a fiber matches."""
    references = 1 << parameters.reference_bits - 1

    def fiber() -> list[Token]:
        span = min(SPAN, 1 << parameters.coordinate_bits)
        places = sorted(generator.sample(range(span), min(LENGTH, span)))
        return [(DATA, place, generator.randrange(references), _value(generator)) for place in places]

    return {side: [token for _ in range(FIBERS) for token in (*fiber(), STOP_TOKEN)] for side in "ab"}


def _arrays(generator: random.Random, lanes: int, bits: int) -> list[list[Token]]:
    """Return rows of arrays, each of four rows; the upper half of the last row, from lane n / 2, is stops."""
    numbers = [(DATA, generator.getrandbits(bits), 0, 0.0) for _ in range(4 * lanes * FIBERS)]
    rows = [numbers[first : first + lanes] for first in range(0, len(numbers), lanes)]
    return [
        row[: lanes // 2] + [STOP_TOKEN] * (lanes - lanes // 2) if i % 4 == 3 else row
        for i, row in enumerate(rows)
    ]


def _prefix_sum(generator: random.Random, parameters: PrefixSumParameters) -> Inputs:
    return _by_lane("lanes", _arrays(generator, parameters.lanes, min(parameters.width, DIVISOR_BITS)))


def _divider(generator: random.Random, parameters: DividerParameters) -> Inputs:
    rows = _arrays(generator, parameters.lanes, min(parameters.width, NUMBER_BITS))
    most = 1 << min(parameters.width, DIVISOR_BITS)
    divisors = [(DATA, generator.randrange(1, most), 0, 0.0) for _ in range(FIBERS)]
    return {"divisors": divisors, **_by_lane("dividends", rows)}


def _adder_network(generator: random.Random, parameters: AdderNetworkParameters) -> Inputs:
    """Return vectors of neurons with four leaves on average; one leaf in ten is empty."""
    most = 1 << parameters.operand_bits - 1

    def vector() -> list[Token]:
        number, leaves = 0, []  # number of the neuron
        for _ in range(parameters.leaves):
            number = (number + (generator.random() < 0.25)) % (1 << parameters.id_bits)
            operand = float(generator.randrange(-most, most))
            leaves.append((EMPTY, 0, 0, 0.0) if generator.random() < 0.1 else (DATA, number, 0, operand))
        return leaves

    return _by_lane("leaves", [vector() for _ in range(4 * FIBERS)])


def _benes(generator: random.Random, parameters: BenesParameters) -> Inputs:
    """Return routed settings, permutations or multicasts, with eight vectors each."""
    lanes, vectors = parameters.lanes, 8
    route = route_permutation if parameters.form == MINIMAL else MulticastRouter(lanes).route
    draw = generator.sample if parameters.form == MINIMAL else generator.choices
    settings = [route(draw(range(lanes), k=lanes)) for _ in range(FIBERS)]

    def vector() -> list[Token]:
        # A reference is signed, and its sign bit stays 0.
        reference = parameters.reference_bits and generator.getrandbits(parameters.reference_bits - 1)
        value = _value(generator) if parameters.value_bits else 0.0
        return [
            (DATA, generator.getrandbits(parameters.coordinate_bits), reference, value) for _ in range(lanes)
        ]

    return {
        "tasks": [(DATA, vectors, 0, 0.0)] * FIBERS,
        **_by_lane("settings", [[(DATA, bits, 0, 0.0) for bits in rows] for rows in settings]),
        **_by_lane("inputs", [vector() for _ in range(vectors * FIBERS)]),
    }


def _accumulator(generator: random.Random, parameters: AccumulatorParameters) -> Inputs:
    """Return fibers of sorted products, of which two in three have the coordinate of the one before."""
    most = 1 << min(parameters.value_bits, NUMBER_BITS) - 1
    tokens: list[Token] = []
    for _ in range(FIBERS):
        place = 0
        for _ in range(LENGTH):
            place += generator.random() < 1 / 3
            product = float(generator.randrange(-most, most))
            tokens.append((DATA, place % (1 << parameters.coordinate_bits), 0, product))
        tokens.append(STOP_TOKEN)
    return {"products": tokens}


def _sorted_head(generator: random.Random, parameters: SortedHeadParameters) -> Inputs:
    """Return rows of the maximum number of lists, of four elements each, or fewer if columns are narrow."""
    tasks: list[Token] = []
    elements: list[Token] = []
    span = 1 << min(parameters.column_bits, COLUMN_BITS)
    for row in range(FIBERS // 4):
        columns = [sorted(generator.sample(range(span), min(4, span))) for _ in range(parameters.entries)]
        tasks.append((DATA, parameters.entries, row, 0.0))
        elements += _merged(columns, lambda: _value(generator) if parameters.value_bits else 0.0)
    return {"tasks": tasks, "elements": elements}


def _merged(columns: Sequence[Sequence[int]], value: Callable[[], float]) -> list[Token]:
    """Return the heads of all lists, then the successor of each element that leaves, or a stop."""

    def element(number: int, place: int) -> Token:
        if place == len(columns[number]):
            return (STOP, 0, number, 0.0)
        return (DATA, columns[number][place], number, value())

    # Among equal columns, the larger list leaves first, hence the negative number.
    leaving = sorted(
        (column, -number, place) for number, fiber in enumerate(columns) for place, column in enumerate(fiber)
    )
    heads = [element(number, 0) for number in range(len(columns))]
    return heads + [element(-number, place + 1) for _column, number, place in leaving]


STIMULI: Mapping[str, Callable[[random.Random, Any], Inputs]] = {
    "two_finger": _intersector,
    "skip_ahead": _intersector,
    "prefix_sum": _prefix_sum,
    "divider": _divider,
    "adder_network": _adder_network,
    "benes": _benes,
    "accumulator": _accumulator,
    "sorted_head": _sorted_head,
}
