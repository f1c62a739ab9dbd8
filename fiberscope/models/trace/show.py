"""What ``fiberscope model --show`` prints of blocks and of traffic."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from fiberscope.errors import InputError
from fiberscope.models.trace.blocks import blocks
from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.report.document import Report
from fiberscope.report.table import Table
from fiberscope.workloads.errors import nearest

__all__ = ["OF_RUNS", "OF_SPECIFICATIONS", "blocks_in_words", "check", "traffic_table"]

OF_SPECIFICATIONS = ("loopnest", "blocks")  # what can be shown without operands
OF_RUNS = ("traffic", "spacetime")


def check(what: str) -> None:
    """Refuse what cannot be shown.

    Raises:
        InputError: naming what can be.
    """
    known = (*OF_SPECIFICATIONS, *OF_RUNS)
    if what not in known:
        raise InputError(f"--show {what}: there is no such view; {nearest(what, known)}")


def blocks_in_words(specification: Specification) -> str:
    """Which Einsums run together, a block a line, and why each block begins where it does."""
    bound = [einsum for einsum in specification.einsums if einsum.bindings.config]
    if not bound:
        return "no Einsum is bound to an architecture"
    together, by_name = blocks(bound), {einsum.name: einsum for einsum in bound}
    lines = [" and ".join(together[0])]
    for before, block in pairwise(together):
        lines.append(f"{' and '.join(block)}: {_why(by_name[before[-1]], by_name[block[0]])}")
    return "\n".join(lines)


def _why(before: Einsum, einsum: Einsum) -> str:
    """Why an Einsum does not run together with those before it."""
    if before.bindings.config != einsum.bindings.config:
        return f"in another configuration, {einsum.bindings.config}"
    outer = [_outside_of_space(one) for one in (before, einsum)]
    if outer[0] != outer[1]:
        return f"loops outside of space are [{', '.join(outer[1])}], not [{', '.join(outer[0])}]"
    return "a unit is needed by both"


def _outside_of_space(einsum: Einsum) -> list[str]:
    space = {stamp.rank for stamp in einsum.spacetime.space} if einsum.spacetime else set()
    first = next((at for at, rank in enumerate(einsum.loop_order) if rank in space), len(einsum.loop_order))
    return list(einsum.loop_order[:first])


def traffic_table(report: Report) -> Table:
    """Bytes read from and written to every memory, by Einsum and tensor, and how long each memory takes."""
    table = Table("Traffic", ["Einsum", "memory", "tensor", "read", "written", "ns"], labels=3)
    assert report.teaal is not None
    for einsum, components in report.teaal.metrics.items():
        for component, told in components.items() if isinstance(components, Mapping) else ():
            for tensor, counts in told.items():
                if isinstance(counts, Mapping):
                    ways = [f"{counts.get(way, 0) // 8:,}" for way in ("read", "write")]
                    table.add(einsum, component, tensor, *ways, f"{told['time'] * 1e9:,.2f}")
    return table
