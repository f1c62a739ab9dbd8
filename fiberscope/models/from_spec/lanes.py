"""Lanes: the innermost loops in space, whose elements an instance processes in parallel.

A loop in space that contains no other loop has no task to dispatch. Its elements go to the lanes of a vector
unit, such as the multipliers of SIGMA's Flex-DPE. An iteration of the loops around it is a step. A step of e
elements on n lanes takes max(1, ceil(e / n)) cycles.

A lane is not a component. All blocks of an instance run in a faster clock, so that no block limits the
throughput. ``fiberscope.hw.streams.lanes.Lanes`` delays each step by its number of cycles.
"""

from __future__ import annotations

from fiberscope.models.trace.specification import Einsum, Specification

TICKS = 4  # ticks of the lanes' clock per element and lane: an accumulator also sends its sums and stops
LEAST_TICKS = 32  # ticks per cycle at least, so that a chain of blocks adds a latency of few cycles


def find_clock_ratio(lanes: int) -> int:
    """Return the number of ticks of the lanes' clock per cycle, a power of two; 1 without lanes."""
    return 1 << (max(LEAST_TICKS, TICKS * lanes) - 1).bit_length() if lanes else 1


def list_lane_loops(einsum: Einsum) -> tuple[str, ...]:
    """Return the innermost loops of an Einsum that are in space, the outermost first."""
    space = {loop.rank for loop in einsum.spacetime.space} if einsum.spacetime else set[str]()
    order = einsum.loop_order
    count = next((position for position, rank in enumerate(reversed(order)) if rank not in space), len(order))
    return order[len(order) - count :]


def register_entries(specification: Specification, einsum: Einsum) -> int:
    """Return the most entries of the innermost loop in a line of a register file; 0 if none is bound.

    A register file is a buffer that is the last store on the path of a tensor.

    Args:
        specification: the specification of the Einsum.
        einsum: an Einsum with at least one loop.
    """
    bindings = einsum.bindings
    components = specification.configurations[bindings.config].components if bindings.config else {}
    path_positions = {name: position for position, name in enumerate(components)}
    entries = 0
    for binding in bindings.storage:
        component = components[binding.component]
        stores = (other.component for other in bindings.storage if other.tensor == binding.tensor)
        is_last = max(stores, key=path_positions.__getitem__) == component.name
        if binding.rank == einsum.loop_order[-1] and component.kind == "Buffet" and is_last:
            rank_format = specification.tensors[binding.tensor].formats[binding.format].ranks[binding.rank]
            bits = rank_format.count_entry_bits(binding.kind)
            entries = max(entries, component.width // bits if bits else 0)
    return entries
