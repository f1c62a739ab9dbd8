"""Lanes: innermost loops in space, whose elements an instance works on side by side.

A loop in space with nothing behind it has no task to deal. Its elements are the lanes of a vector unit, such
as the multipliers of SIGMA's Flex-DPE. An iteration of the loops around it is a step: a step of e elements on
n lanes takes ceil(e / n) cycles, and at least one.

A lane is no component of its own. The blocks of an instance run in a clock of so many ticks a cycle that
none of them is the limit, and ``fiberscope.hw.streams.lanes.Lanes`` holds each step for whole cycles.
"""

from __future__ import annotations

from fiberscope.models.trace.specification import Einsum, Specification

__all__ = ["TICKS", "clock_ratio", "lane_loops", "register_entries"]

TICKS = 4  # of the lanes' clock an element and lane: sums leave an accumulator as they come, and stops pass
LEAST_TICKS = 32  # a cycle: blocks behind one another take few cycles


def clock_ratio(lanes: int) -> int:
    """Return the ticks of the lanes' clock in a cycle, a power of two; 1 without lanes."""
    return 1 << (max(LEAST_TICKS, TICKS * lanes) - 1).bit_length() if lanes else 1


def lane_loops(einsum: Einsum) -> tuple[str, ...]:
    """Return the innermost loops of an Einsum that are in space, the outermost first."""
    space = {each.rank for each in einsum.spacetime.space} if einsum.spacetime else set[str]()
    order = einsum.loop_order
    count = next((place for place, rank in enumerate(reversed(order)) if rank not in space), len(order))
    return order[len(order) - count :]


def register_entries(specification: Specification, einsum: Einsum) -> int:
    """Return the entries of the innermost loop that a line of a register file holds; 0 if none is bound.

    A register file is the last store on the way of a tensor, a buffer with as many copies as its level.
    """
    bound = einsum.bindings
    components = specification.configurations[bound.config].components if bound.config else {}
    places = {name: place for place, name in enumerate(components)}
    entries = 0
    for binding in bound.storage:
        component = components[binding.component]
        others = (each.component for each in bound.storage if each.tensor == binding.tensor)
        last = max(others, key=places.__getitem__) == component.name
        if binding.rank == einsum.loop_order[-1] and component.kind == "Buffet" and last:
            stored = specification.tensors[binding.tensor].formats[binding.format].ranks[binding.rank]
            bits = stored.entry_bits(binding.kind)
            entries = max(entries, component.width // bits if bits else 0)
    return entries
