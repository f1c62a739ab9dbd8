"""Which Einsums run together, and how long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fiberscope.models.trace.specification import Einsum

__all__ = ["block_seconds", "blocks"]


def blocks(einsums: Sequence[Einsum]) -> list[list[str]]:
    """Einsums that run together, by name: as many in a row as can.

    One joins those before it if it has their configuration and their loops up to the first in space, and
    needs no functional unit of theirs. As in the public tool, units of a block's first Einsum do not count.
    """
    together: list[list[str]] = []
    used: set[str] = set()
    before: Einsum | None = None
    for einsum in einsums:
        if before is None or _outer(einsum) != _outer(before) or used & _units(einsum):
            together.append([])
            used = set()
        else:
            used |= _units(einsum)
        together[-1].append(einsum.name)
        before = einsum
    return together


def block_seconds(metrics: Sequence[Mapping[str, Any]]) -> float:
    """Of the Einsums of a block: what the component takes that takes longest for all of them."""
    components = dict.fromkeys(name for each in metrics for name in each)
    totals = [sum(each[name]["time"] for each in metrics if name in each) for name in components]
    return max(totals, default=0.0)


def _outer(einsum: Einsum) -> tuple[str, tuple[str, ...]]:
    """The configuration, and the loops outside of all space."""
    space = {each.rank for each in einsum.spacetime.space} if einsum.spacetime else set[str]()
    first = next((at for at, rank in enumerate(einsum.loop_order) if rank in space), len(einsum.loop_order))
    return einsum.bindings.config, einsum.loop_order[:first]


def _units(einsum: Einsum) -> set[str]:
    bound = einsum.bindings
    lists = (bound.compute, bound.intersectors, bound.sequencers)
    return {each.component for bindings in lists for each in bindings}
