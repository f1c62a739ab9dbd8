"""Random nested lists, and the streams that they are in the stream machine."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP
from fiberscope.sim.testing import Token

DONE_TOKEN: Token = (DONE, 0, 0, 0.0)
EMPTY_TOKEN: Token = (EMPTY, 0, 0, 0.0)


def nested(generator: random.Random, depth: int, leaves: int, longest: int) -> list[Any]:
    """A list nested so deep, 0 for one of leaves, which are None; with at least so many leaves and lists."""
    if depth == 0:
        return [None] * leaves
    lists: list[Any] = []
    while size(lists) < leaves:
        most = generator.choice([0, 1, 2, longest, leaves // 2])
        lists.append(_inner(generator, depth - 1, min(most, leaves), longest))
    return lists


def _inner(generator: random.Random, depth: int, most: int, longest: int) -> list[Any]:
    """A list of at most so many leaves, now and then an empty one."""
    if depth == 0:
        return [None] * generator.randint(0, most)
    return [_inner(generator, depth - 1, most // 2, longest) for _ in range(generator.choice([0, 1, 1, 3]))]


def size(lists: Any) -> int:
    """Leaves and lists of a nested list."""
    return sum(1 + size(inner) for inner in lists) if isinstance(lists, list) else 0


def mapped(lists: Any, depth: int, change: Callable[[Any], Any]) -> Any:
    """The nested list with what lies at a depth changed."""
    return change(lists) if depth == 0 else [mapped(inner, depth - 1, change) for inner in lists]


def stream(lists: Sequence[Any], depth: int) -> list[Token]:
    """The tokens of a nested list of tokens."""
    return [*_fibers(lists, depth), DONE_TOKEN]


def _fibers(lists: Sequence[Any], depth: int) -> list[Token]:
    """Each innermost list and its stop, which also ends those around it that end there."""
    if depth == 0:
        return [*lists, stop(0)]
    tokens = [token for inner in lists for token in _fibers(inner, depth - 1)]
    return [*tokens[:-1], stop(depth)] if tokens else [stop(depth)]


def stop(level: int) -> Token:
    """A stop that closes so many lists beyond its fiber."""
    return (STOP, level, 0, 0.0)


def number(payload: int) -> Token:
    """A coordinate or a reference."""
    return (DATA, payload, 0, 0.0)


def deepened(inputs: Mapping[str, list[Token]], level: int) -> dict[str, list[Token]]:
    """The same streams within more lists of one list each, of which the last stop tells: up to this level."""
    most = max(
        (token[1] for tokens in inputs.values() for token in tokens if token[0] == STOP), default=level
    )
    raised = {}
    for label, tokens in inputs.items():
        last = max((i for i, token in enumerate(tokens) if token[0] == STOP), default=len(tokens))
        raised[label] = [stop(t[1] + level - most) if i == last else t for i, t in enumerate(tokens)]
    return raised


def value(given: float) -> Token:
    """A value."""
    return (DATA, 0, 0, given)


def coordinates(generator: random.Random, count: int, bits: int) -> list[int]:
    """So many that increase, near one another or far apart, if so many bits tell them apart."""
    span = min(1 << bits, generator.choice([2 * count + 1, 8 * count + 8, 1 << 55]))
    return sorted(generator.sample(range(span), min(count, span)))


def coordinates_of_all(generator: random.Random, leaves: list[None], bits: int) -> list[int]:
    """One for each leaf; they come again where so few bits do not tell them apart."""
    found = coordinates(generator, len(leaves), bits)
    return sorted((found * len(leaves))[: len(leaves)]) if found else []


def signals(tokens: Iterable[Token]) -> list[Token]:
    """What a generator of repeat signals makes of a stream."""
    kinds = {DATA: DATA, EMPTY: DATA, STOP: STOP, DONE: DONE}
    return [(kinds[token[0]], 0, 0, 0.0) for token in tokens]
