"""The intersectors: pairs of fibers with ties, long runs on one side, ends on one side, and empty ones.

One takes them as masks.
"""

import random
from dataclasses import replace
from typing import Any

from fiber_streams import STOP_TOKEN, Fiber, random_float
from rows_scenario import by_lane
from scenario import Scenario

from fiberscope.hw.fibers.intersect_rtl import SkipAheadParameters, TwoFingerParameters
from fiberscope.hw.fibers.intersection import RULES
from fiberscope.hw.fibers.intersection_rtl import MaskIntersectorParameters
from fiberscope.sim.testing import Token

PAIRS = 24  # of fibers a seed
EMPTY_PAIRS = 600
WINDOWS = (1, 2, 3, 4, 5, 8, 13)
MATCHES = ("matches_a", "matches_b")


def _widths(generator: random.Random) -> dict[str, int]:
    return {
        "coordinate_bits": generator.choice([1, 6, 8, 32, 55]),
        "reference_bits": generator.choice([1, 16, 64]),
        "value_bits": generator.choice([32, 64]),
    }


def intersector_inputs(generator: random.Random, given: Any) -> dict[str, list[Token]]:
    """Tokens of both sides."""
    inputs: dict[str, list[Token]] = {"a": [], "b": []}
    for _ in range(PAIRS):
        span = min(1 << given.coordinate_bits, generator.choice([4, 16, 64, 1 << 55]))
        for coordinates, side in zip(_pair(generator, span), generator.sample("ab", 2), strict=True):
            inputs[side] += _fiber(generator, coordinates, given.reference_bits)
    return inputs


def _large_inputs(generator: random.Random, given: Any) -> dict[str, list[Token]]:
    """Many pairs of empty fibers, then a few that are not."""
    inputs = intersector_inputs(generator, given)
    return {side: [STOP_TOKEN] * EMPTY_PAIRS + tokens for side, tokens in inputs.items()}


def _pair(generator: random.Random, span: int) -> tuple[list[int], list[int]]:
    """Coordinates below ``span``: many of both, runs that alternate, leaps over many, ends on one side."""
    kind = generator.choice(["mixed", "runs", "leaps", "ends", "empty"])
    many = _some(generator, span, 24)
    if kind == "mixed":
        return many, sorted({*_some(generator, span, 24), *generator.sample(many, len(many) // 2)})
    if kind == "runs":
        runs = [sorted(generator.sample(many, generator.randint(0, len(many)))) for _ in range(2)]
        return runs[0][len(runs[0]) // 2 :], runs[1][: len(runs[1]) // 2] + many[-1:]
    if kind == "leaps":
        many = _some(generator, span, 60)
        return many, many[generator.randrange(9) :: generator.randint(5, 30)]
    if kind == "ends":
        return many, many[: generator.randint(0, 3)]
    return many, []


def _some(generator: random.Random, span: int, count: int) -> list[int]:
    return sorted({generator.randrange(span) for _ in range(count)})


def _fiber(generator: random.Random, coordinates: list[int], reference_bits: int) -> Fiber:
    """Elements and a stop; what the stop carries beside its control is nobody's business."""
    limit = 1 << (reference_bits - 1)
    tokens = [(0, coordinate) for coordinate in coordinates] + [(1, max(coordinates, default=0))]
    return [(*token, generator.randrange(-limit, limit), random_float(generator)) for token in tokens]


def _masks(generator: random.Random, given: MaskIntersectorParameters) -> dict[str, list[Token]]:
    """Both sides' fibers as words."""
    masks: dict[str, list[list[Token]]] = {"masks_a": [], "masks_b": []}
    for _ in range(3 * PAIRS):  # the narrowest take a step each
        for coordinates, side in zip(_pair(generator, given.bits), generator.sample("ab", 2), strict=True):
            mask = sum(1 << coordinate for coordinate in coordinates)
            words = [mask >> place & (1 << given.width) - 1 for place in range(0, given.bits, given.width)]
            masks[f"masks_{side}"].append([(0, word, 0, 0.0) for word in words])
    return {label: tokens for port, rows in masks.items() for label, tokens in by_lane(port, [rows]).items()}


TWO_FINGER = Scenario(
    "two_finger", lambda generator: TwoFingerParameters(**_widths(generator)), intersector_inputs, MATCHES
)
SKIP_AHEAD = Scenario(
    "skip_ahead",
    lambda generator: SkipAheadParameters(**_widths(generator), window=generator.choice(WINDOWS)),
    intersector_inputs,
    (*MATCHES, "skips_a", "skips_b"),
)
LARGE_TWO_FINGER = replace(TWO_FINGER, inputs=_large_inputs)
LARGE_SKIP_AHEAD = replace(
    SKIP_AHEAD,
    draw=lambda generator: SkipAheadParameters(window=generator.choice([16, 24, 32])),
    inputs=_large_inputs,
)
MASKS = Scenario(
    "intersector",
    lambda generator: MaskIntersectorParameters(
        generator.randint(1, 4), generator.choice([1, 5, 32, 62]), generator.choice(RULES)
    ),
    _masks,
    ("results",),
)
LARGE_MASKS = replace(
    MASKS,
    draw=lambda generator: MaskIntersectorParameters(
        generator.choice([8, 16]), generator.choice([32, 62]), generator.choice(RULES)
    ),
)
