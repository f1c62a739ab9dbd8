"""Arrays of random elements as rows of tokens, for blocks of several lanes."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fiber_streams import STOP_TOKEN, random_float
from pairs import Pair
from scenario import Scenario

from fiberscope.sim.testing import Token

LANES = (1, 2, 3, 4, 5, 7, 8, 11)
MANY_LANES = (16, 33, 64)
MANY_LANES_ROWS = 16


@dataclass(frozen=True)
class LanedScenario(Scenario):
    """A scenario whose outputs are arrays of ports, each as many as a parameter says, and single ones."""

    lanes: str = "lanes"
    single: tuple[str, ...] = ()

    def pair(self, seed: int, parameters: Any = None, *arguments: Any, **options: Any) -> Pair:
        """See ``Scenario``."""
        parameters = parameters or self.drawn(seed)
        lanes = range(getattr(parameters, self.lanes))
        outputs = tuple(f"{port}[{lane}]" for port in self.outputs for lane in lanes)
        return replace(
            super().pair(seed, parameters, *arguments, **options), outputs=(*self.single, *outputs)
        )


def random_arrays(
    generator: random.Random, lanes: int, rows: int, element: Callable[[], Token]
) -> list[list[list[Token]]]:
    """Arrays, as rows with their stops, of about so many rows in all; many of whole rows."""
    arrays: list[list[list[Token]]] = []
    while sum(map(len, arrays)) < rows:
        length = generator.choice([0, 1, lanes, 2 * lanes, generator.randint(0, 7 * lanes)])
        tokens = [element() for _ in range(length)] + [STOP_TOKEN] * (lanes - length % lanes)
        arrays.append([tokens[i : i + lanes] for i in range(0, len(tokens), lanes)])
    return arrays


def by_lane(port: str, arrays: list[list[list[Token]]]) -> dict[str, list[Token]]:
    """The tokens at each port of an array of ports."""
    rows = [row for array in arrays for row in array]
    return {f"{port}[{lane}]": list(tokens) for lane, tokens in enumerate(zip(*rows, strict=True))}


def random_number(generator: random.Random, width: int) -> int:
    """An unsigned integer of at most so many bits, short ones as often as long ones."""
    return generator.getrandbits(generator.randint(1, width))


def random_value(generator: random.Random, value_bits: int) -> float:
    """A float that 32 bits hold, a special one now and then; 0 where there are to be no values."""
    return random_float(generator) if value_bits else 0.0
