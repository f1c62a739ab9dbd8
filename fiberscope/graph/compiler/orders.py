"""Orders of loops: which go through every tensor as it is stored, and which one is the default.

A loop nest goes through a tensor level by level, so that the variables of a path stand in the order in their
own order: the legal orders are those of the graph whose edges are the steps of all paths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from fiberscope.errors import InputError
from fiberscope.graph.compiler.notation import TensorPath

__all__ = ["check_order", "default_order", "legal_orders"]

Steps = Mapping[str, Collection[str]]  # of each variable those that come right before it in a path


def default_order(paths: Sequence[TensorPath]) -> tuple[str, ...]:
    """The order that the formats ask for.

    Each variable hangs below the deepest of those before it; the order goes through that forest by levels.
    Source: the public compiler of the Sparse Abstract Machine (github.com/weiya711/sam).

    Args:
        paths: of the result, then of the operands.

    Raises:
        InputError: the formats allow no order.
    """
    before = {variable: dict.fromkeys(others) for variable, others in _steps(paths).items()}
    levels = _levels(paths)
    if levels is None:
        raise InputError(_cyclic(paths))
    parents: dict[str, str] = {}
    for variable in sorted(before, key=levels.__getitem__, reverse=True):
        if before[variable]:
            parent = max(before[variable], key=levels.__getitem__)
            parents[variable] = parent
            before[parent].update(dict.fromkeys(other for other in before[variable] if other != parent))
    found = sorted(variable for variable in before if variable not in parents)
    for variable in found:  # which grows
        found += [child for child in before if parents.get(child) == variable]
    return tuple(found)


def legal_orders(paths: Sequence[TensorPath]) -> Iterator[tuple[str, ...]]:
    """All orders that go through every tensor as it is stored."""
    return _completed((), {variable: set(others) for variable, others in _steps(paths).items()})


def check_order(order: Sequence[str], paths: Sequence[TensorPath]) -> None:
    """Refuse an order that is none of these variables, or goes through a tensor otherwise than it is stored.

    Raises:
        InputError: it does; with a legal order.
    """
    variables, named = list(_steps(paths)), f"order {','.join(order)}"
    for number, variable in enumerate(order):
        if variable not in variables:
            raise InputError(f"{named}: the expression has no {variable}; it has {','.join(variables)}")
        if variable in order[:number]:
            raise InputError(f"{named}: {variable} stands there twice; leave one out")
    missing = [variable for variable in variables if variable not in order]
    if missing:
        raise InputError(f"{named}: {','.join(missing)} is missing, as in {','.join(default_order(paths))}")
    for path in paths:
        for outer, inner in pairwise(path.variables):
            if order.index(outer) > order.index(inner):
                raise InputError(f"{named}: {_stored(path, outer, inner)}; {_instead(path, order, paths)}")


def _steps(paths: Sequence[TensorPath]) -> Steps:
    before: dict[str, dict[str, None]] = {v: {} for path in paths for v in path.variables}
    for path in paths:
        for outer, inner in pairwise(path.variables):
            before[inner][outer] = None
    return before


def _levels(paths: Sequence[TensorPath]) -> dict[str, int] | None:
    """Of each variable the longest way to it; None if there is a cycle."""
    before, levels = _steps(paths), dict[str, int]()
    while len(levels) < len(before):
        ready = [v for v in before if v not in levels and all(other in levels for other in before[v])]
        if not ready:
            return None
        levels |= {v: 1 + max((levels[other] for other in before[v]), default=-1) for v in ready}
    return levels


def _completed(order: tuple[str, ...], before: Mapping[str, Collection[str]]) -> Iterator[tuple[str, ...]]:
    if len(order) == len(before):
        yield order
    for variable, others in before.items():
        if variable not in order and all(other in order for other in others):
            yield from _completed((*order, variable), before)


def _stored(path: TensorPath, outer: str, inner: str) -> str:
    return f"{path.access} is stored {outer} before {inner}"


def _instead(path: TensorPath, order: Sequence[str], paths: Sequence[TensorPath]) -> str:
    """What would be right: the tensor stored otherwise, or another order."""
    return f"store it as {_restored(path, order)}, or take the order {','.join(default_order(paths))}"


def _restored(path: TensorPath, order: Sequence[str]) -> str:
    """The format of a tensor whose levels follow an order."""
    by_variable = {variable: dimension for dimension, variable in enumerate(path.access.variables)}
    levels = sorted(by_variable, key=list(order).index)
    letters = "".join(path.letter(variable) for variable in levels)
    return f"{path.tensor}:{letters}:{''.join(str(by_variable[variable]) for variable in levels)}"


def _cyclic(paths: Sequence[TensorPath]) -> str:
    """Names the first tensor that goes against those before it."""
    number = next(number for number in range(len(paths)) if _levels(paths[: number + 1]) is None)
    path, before = paths[number], paths[:number]
    order = default_order(before)
    order += tuple(variable for variable in path.variables if variable not in order)
    others = ", ".join(f"{one.access} as {one.format}" for one in before)
    return (
        f"no order of the loops goes through {others} and through {path.access} as {path.format}; "
        f"store it as {_restored(path, order)}"
    )
