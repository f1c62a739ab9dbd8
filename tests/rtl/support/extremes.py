"""Pairs at both ends of every parameter's stated range, and for every choice, where no seed reaches them.

Ends of widths and delays are tried together; of what makes a module large, lanes or entries say, one at a
time in a module that is small otherwise. Streams are the short ones of large draws.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from pairs import Pair
from scenarios import LARGE, SCENARIOS, scenarios_by_default

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.parameters import BOUNDS, CHOICES, NUMBERS, least

FIRST_SEED, LAST_SEED = 100, 130

End = tuple[str, int | str]  # a parameter's name, and a value that it must have had


def ends(kind: type[Any]) -> list[End]:
    """The least and the most of each parameter in a range, and all others that one may be."""
    return [
        (known.name, value)
        for known in fields(kind)
        for kind_of_range in (BOUNDS, NUMBERS, CHOICES)
        for value in known.metadata.get(kind_of_range, ())
    ]


def unstated(kind: type[Any]) -> list[str]:
    """The parameters that say of no range what they may be."""
    stated = {name for name, _value in ends(kind)}
    return [known.name for known in fields(kind) if known.name not in stated]


def by_default(block: str) -> Iterator[Any]:
    """The parameters of the pairs that the default run draws by seed."""
    yield from (scenario.drawn(seed) for scenario, seed in scenarios_by_default(block))


def unreached(block: str, given: list[Any]) -> list[End]:
    """The ends that none of these parameters has."""
    return [
        (name, value)
        for name, value in ends(BLOCKS[block].parameters)
        if all(getattr(one, name) != value for one in given)
    ]


@dataclass(frozen=True)
class Extreme:
    """A pair at some ends."""

    block: str
    seed: int
    parameters: Any
    ends: tuple[End, ...]

    def __str__(self) -> str:
        return "-".join([self.block, *(f"{name}={value}" for name, value in self.ends)])

    def pair(self) -> Pair:
        """Component and twin."""
        return replace(SCENARIOS[self.block], inputs=LARGE[self.block].inputs).pair(
            self.seed, self.parameters
        )


@cache
def extremes(block: str) -> list[Extreme]:
    """Pairs at the ends that no seed of the default run reaches."""
    left, found = unreached(block, list(by_default(block))), []
    for seed in range(FIRST_SEED, LAST_SEED):
        if not left:
            break
        given, taken = _at_ends(SCENARIOS[block].drawn(seed), left)
        if taken:
            found.append(Extreme(block, seed, given, tuple(taken)))
            left = [end for end in left if end not in taken]
    return found


def _at_ends(given: Any, left: list[End]) -> tuple[Any, list[End]]:
    """The parameters with one of the ends, or with as many of widths as go together."""
    taken: dict[str, int | str] = {}
    for name, value in reversed(left):
        if name in taken or (taken and not is_cheap(name)):
            continue
        changed = _with(given, name, value)
        if changed is not None and all(getattr(changed, other) == end for other, end in taken.items()):
            given = changed
            taken[name] = value
            if not is_cheap(name):
                break
    return given, [(name, value) for name, value in left if taken and getattr(given, name) == value]


def is_cheap(name: str) -> bool:
    """Whether a parameter is the width of a field or a delay, which cost little."""
    return name.endswith(("_bits", "_latency")) or name == "width"


def _with(given: Any, name: str, value: int | str) -> Any:
    """The parameters with this one so, if need be with another one at an end of its range; None if not so."""
    for other in ({}, *({other: end} for other, end in ends(type(given)) if other != name)):
        try:
            return replace(given, **{name: value, **other})
        except ValueError:
            continue
    return None


def smallest(block: str) -> Any:
    """The parameters of a block, each number the least that goes with those before it."""
    return least(BLOCKS[block].parameters)
