"""The stages among the blocks of recipes, with their arguments, and the latency of every block.

The other blocks are units with one channel per lane; see ``lanes`` and ``counters``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from fiberscope.converters import counting, encoding, gathering, stages
from fiberscope.converters.arrays import MASK_BITS
from fiberscope.converters.configuration import WORD_BITS, MintParameters
from fiberscope.converters.job import Job, run_limits
from fiberscope.converters.recipes import parse_kind
from fiberscope.hw.lanes import divider, prefix_sum
from fiberscope.sim import Component
from fiberscope.workloads.formats import Bsr, index_bits

BlockFactory = Callable[[str, Job], Component]


def _make_blocks(name: str, job: Job) -> Component:
    assert isinstance(job.target, Bsr)
    first_seen = job.parameters.bsr_order == "first_seen"
    grid, block_elements = job.target.grid(job.shape), job.target.block**2
    return gathering.Blocks(name, job.parameters.lanes.words, grid, block_elements, first_seen)


def _make_block_divide(name: str, job: Job) -> Component:
    assert isinstance(job.target, Bsr)
    lanes, blocks_per_row = job.parameters.lanes.divide, job.target.grid(job.shape)[1]
    return stages.BlockDivide(name, lanes, job.target.block, blocks_per_row, job.shifts[0])


def _make_expand(name: str, job: Job) -> Component:
    # Pointers of CSC are of columns, whose coordinate is lowest in a word. CSF has ``outers``, and no shift.
    return encoding.Expand(name, _count_word_lanes(job), 0 if job.source.name == "csc" else job.shifts[0])


def _count_word_lanes(job: Job) -> int:
    return job.parameters.lanes.words


BLOCKS: Mapping[str, BlockFactory] = {
    "divide_blocks": _make_block_divide,
    "expand": _make_expand,
    "tally": lambda name, job: encoding.Tally(
        name, _count_word_lanes(job), job.parameters.lanes.scan, job.shape[0], job.shifts[0]
    ),
    "fill": lambda name, job: encoding.Fill(name, _count_word_lanes(job), job.size),
    "mask": lambda name, job: encoding.Mask(name, _count_word_lanes(job), job.size, MASK_BITS),
    "difference": lambda name, job: encoding.Difference(
        name, _count_word_lanes(job), *run_limits(job.target)
    ),
    "blocks": _make_blocks,
    "tree": lambda name, job: encoding.Tree(name, _count_word_lanes(job), job.shifts),
    "turn": lambda name, job: counting.Turn(name, _count_word_lanes(job), *job.key_field),
}


def latency(block: str, output: str, parameters: MintParameters, shape: Sequence[int]) -> int:
    """Return the cycles from the arrival of an item at a block to its arrival at the next block.

    Args:
        block: name of the block in a recipe.
        output: port at which the item leaves.
        parameters: parameters of MINT.
        shape: shape of the tensor.

    Returns:
        The latency of the channel after a stage. For a unit of several pipeline stages, the cycles of the
        unit and of the channel together. At least 1, also for a block that is not listed here.
    """
    lanes, name = parameters.lanes, parse_kind(block)
    bits = max(WORD_BITS, index_bits(math.prod(shape)))
    scan = prefix_sum.depth(parameters.scan_form, lanes.scan)
    # A bitonic network of 2^n keys has n (n + 1) / 2 stages of comparators
    levels = (lanes.chunk - 1).bit_length()
    cycles = {
        "scan": scan + 1,  # including the channel after the unit
        "scan_counts": scan + 1,
        "offsets": 1 + scan + 1 + 1,  # including the read and the write of the counters
        "divide": divider.depth(bits, parameters.division_bits) + 1,
        "divide_blocks": lanes.divide_latency,
        "multiply": lanes.multiply_latency,
        "sort": max(1, levels * (levels + 1) // 2),
        "count": 2,  # read-modify-write of the counters
        "tally": 2 if output == "counts" else 1,
    }
    return cycles.get(name, 1)
