"""Stimulus of the stream blocks (``fiberscope.hw.streams``), and of other blocks without typical stimulus.

A stream is a list of fibers, each of 0 to 6 sorted coordinates. Coordinates and values fit the widths of the
block. References have up to 3 bits, whatever the block.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.tools.stimulus import STIMULI, Inputs
from fiberscope.hw.stream import EMPTY
from fiberscope.hw.streams.tokens import DATA, DONE, STOP
from fiberscope.sim.testing import Token

FIBERS = 24
LONGEST = 6  # elements of a fiber
SPAN_BITS = 4  # bits of coordinates, few enough for common coordinates
MERGED = 48  # bounds the merges: 2, and as many as merge so many fibers at the full radix
MANY = 1 << 20  # larger than any parameter: no limit
DONE_TOKEN: Token = (DONE, 0, 0, 0.0)
Stimulus = Callable[[random.Random, Parameters], Inputs]


def _size(parameters: Parameters, name: str, most: int) -> int:
    """Return a parameter of a block, limited to ``most``."""
    return min(most, int(getattr(parameters, name)))


def _number(payload: int) -> Token:
    return (DATA, payload, 0, 0.0)


def _stream(fibers: Sequence[Sequence[Token]]) -> list[Token]:
    """Return fibers, each followed by a stop; the last stop has level 1, as it also ends the list of fibers.

    There must be at least one fiber. A ``DONE`` token ends the stream.
    """
    stops = [(STOP, int(place == len(fibers) - 1), 0, 0.0) for place in range(len(fibers))]
    ended = ([*fiber, stop] for fiber, stop in zip(fibers, stops, strict=True))
    return [*(token for fiber in ended for token in fiber), DONE_TOKEN]


def _fibers(generator: random.Random, parameters: Parameters) -> list[list[Token]]:
    """Return fibers of sorted coordinates."""
    span = range(1 << _size(parameters, "coordinate_bits", SPAN_BITS))
    lengths = (generator.randint(0, min(LONGEST, len(span))) for _ in range(FIBERS))
    return [[_number(place) for place in sorted(generator.sample(span, length))] for length in lengths]


def _references(fibers: Iterable[Sequence[Token]]) -> list[list[Token]]:
    """Return numbers of up to 3 bits in place of elements."""
    return [
        [_number((place + 3 * i) % 8) for place, _token in enumerate(fiber)] for i, fiber in enumerate(fibers)
    ]


def _values(
    generator: random.Random, fibers: Iterable[Sequence[Token]], parameters: Parameters
) -> list[list[Token]]:
    """Return small whole numbers in place of elements."""
    most = (1 << _size(parameters, "value_bits", 5) - 1) - 1
    return [[(DATA, 0, 0, float(generator.randint(-most, most))) for _token in fiber] for fiber in fibers]


def _joiner(generator: random.Random, parameters: Parameters) -> Inputs:
    """Return coordinates and references for each way."""
    inputs: Inputs = {}
    for way in range(_size(parameters, "ways", MANY)):
        fibers = _fibers(generator, parameters)
        inputs |= {f"in_crd[{way}]": _stream(fibers), f"in_ref[{way}]": _stream(_references(fibers))}
    return inputs


def _coordinates_or_values(generator: random.Random, parameters: Parameters) -> Inputs:
    """Return a stream of what the parameter ``carries`` says."""
    fibers = _fibers(generator, parameters)
    carries_values = getattr(parameters, "carries", "") == "values"
    return {"in_stream": _stream(_values(generator, fibers, parameters) if carries_values else fibers)}


def _repeater(generator: random.Random, _parameters: Parameters) -> Inputs:
    """Return a reference for each fiber of signals."""
    fibers = [[_number(0)] * generator.randint(0, LONGEST) for _ in range(FIBERS)]
    signals = [(token[0], 0, 0, 0.0) for token in _stream(fibers)]
    outer = [(STOP, 0, 0, 0.0), DONE_TOKEN]
    return {"in_ref": [_number(i % 8) for i in range(FIBERS)] + outer, "in_repsig": signals}


def _outer_and_inner(generator: random.Random, parameters: Parameters) -> Inputs:
    """Return a coordinate for each fiber; a fiber holds coordinates or, if the block says so, values."""
    fibers = _fibers(generator, parameters)
    outer = [[_number(i % (1 << _size(parameters, "coordinate_bits", 5))) for i in range(FIBERS)]]
    # The outer stream is a single fiber of one level, whose stop has level 0.
    levels = [token if token[0] != STOP else (STOP, 0, 0, 0.0) for token in _stream(outer)]
    if getattr(parameters, "inner", "") == "values":
        fibers = _values(generator, fibers, parameters)
    return {"in_outer": levels, "in_inner": _stream(fibers)}


def _arithmetic(generator: random.Random, parameters: Parameters) -> Inputs:
    lengths = [[_number(0)] * generator.randint(0, LONGEST) for _ in range(FIBERS)]
    return {f"in_val[{way}]": _stream(_values(generator, lengths, parameters)) for way in range(2)}


def _scalar_reducer(generator: random.Random, parameters: Parameters) -> Inputs:
    return {"in_val": _arithmetic(generator, parameters)["in_val[0]"]}


def _reducer(generator: random.Random, parameters: Parameters) -> Inputs:
    fibers = _fibers(generator, parameters)
    values = _values(generator, fibers, parameters)
    return {"in_crd": _stream(fibers), "in_val": _stream(values)}


def _points(labels: Callable[[Parameters], Sequence[str]]) -> Stimulus:
    """Return points within the accumulator's capacity, each several times, sorted by all coordinates."""

    def inputs(generator: random.Random, parameters: Parameters) -> Inputs:
        names = labels(parameters)
        span = 1 << _size(parameters, "coordinate_bits", SPAN_BITS)
        pool = [
            tuple(generator.randrange(span) for _ in names) for _ in range(_size(parameters, "points", MANY))
        ]
        points = sorted(generator.choice(pool) for _ in range(4 * FIBERS))
        (values,) = _values(generator, [[_number(0)] * len(points)], parameters)
        columns = {
            name: [*(_number(point[place]) for point in points), DONE_TOKEN]
            for place, name in enumerate(names)
        }
        return {**columns, "in_val": [*values, DONE_TOKEN]}

    return inputs


def _merger(generator: random.Random, parameters: Parameters) -> Inputs:
    """Return merges of 1 to ``radix`` fibers."""
    radix = _size(parameters, "radix", MANY)
    inputs: Inputs = {"tasks": [], **{f"ways[{way}]": [] for way in range(radix)}}
    span = range(1 << _size(parameters, "coordinate_bits", SPAN_BITS + 2))
    for _merge in range(2 + MERGED // radix):
        fibers = generator.randint(1, radix)
        inputs["tasks"].append(_number(fibers))
        for way in range(fibers):
            places = sorted(generator.sample(span, generator.randint(0, min(LONGEST, len(span)))))
            tokens = [(DATA, place, 0, float(generator.randint(0, 1))) for place in places]
            inputs[f"ways[{way}]"] += [*tokens, (STOP, 0, 0, 0.0)]
    return inputs


def _rows(port: str, lanes: str, *, gaps: bool = False) -> Stimulus:
    """Return rows of items with few keys, then a row of stops; with ``gaps``, one lane in five is empty."""

    def inputs(generator: random.Random, parameters: Parameters) -> Inputs:
        few = 1 << _size(parameters, "width", 2)

        def item() -> Token:
            empty = gaps and generator.random() < 0.2
            return (EMPTY, 0, 0, 0.0) if empty else _number(generator.randrange(few))

        names = [f"{port}[{lane}]" for lane in range(_size(parameters, lanes, MANY))]
        return {name: [*(item() for _row in range(FIBERS)), (STOP, 0, 0, 0.0)] for name in names}

    return inputs


BENCH_STIMULI: Mapping[str, Stimulus] = {
    **STIMULI,
    "alu": _arithmetic,
    "cluster_counter": _rows("sorted", "lanes"),
    "comparator_bank": _rows("lanes", "lanes", gaps=True),
    "coordinate_dropper": _outer_and_inner,
    "coordinate_hold": _outer_and_inner,
    "dense_scanner": lambda _generator, _parameters: {"in_ref": _stream([[_number(0), _number(1)]])},
    "fiber_intersect": _joiner,
    "fiber_union": _joiner,
    "locator": lambda generator, parameters: {
        "in_crd": _stream(fibers := _fibers(generator, parameters)),
        "in_ref": _stream(_references(fibers)),
    },
    "merger": _merger,
    "packer": _rows("lanes", "inputs", gaps=True),
    "repeat_signal": lambda generator, parameters: {"in_crd": _stream(_fibers(generator, parameters))},
    "repeater": _repeater,
    "run_sum": _reducer,
    "scalar_reducer": _scalar_reducer,
    "sorting_network": _rows("lanes", "lanes"),
    "sparse_accumulator": _points(lambda _parameters: ("in_crd_outer", "in_crd_inner")),
    "stop_dropper": _coordinates_or_values,
    "tensor_accumulator": _points(
        lambda parameters: [f"in_crd[{way}]" for way in range(_size(parameters, "ways", MANY))]
    ),
}
