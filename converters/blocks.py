"""The blocks of recipes: which component each is, with what it is made, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fiberscope.converters import encoding, gathering, sorting, stages
from fiberscope.converters.arrays import MASK_BITS, shifts_of
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.recipes import family
from fiberscope.converters.sorting import Scratchpad
from fiberscope.hw.lanes import prefix_sum
from fiberscope.sim import Component
from fiberscope.workloads.formats import Bsr, Format, Rlc, index_bits

__all__ = ["BLOCKS", "Job", "latency"]


@dataclass(frozen=True)
class Job:
    """What a converter is built for.

    Args:
        parameters: of MINT.
        source, target: formats.
        shape: of the tensor.
        nonzeros: of it.
    """

    parameters: MintParameters
    source: Format
    target: Format
    shape: tuple[int, ...]
    nonzeros: int

    @property
    def size(self) -> int:
        """Places of the tensor."""
        return math.prod(self.shape)

    @property
    def shifts(self) -> list[int]:
        """Where each rank's coordinate lies in a word."""
        return shifts_of(self.shape)

    @property
    def adders(self) -> int:
        """Adders of the prefix sum."""
        return prefix_sum.adders(self.parameters.scan_form, self.parameters.lanes.scan)

    @property
    def key_rank(self) -> int:
        """The rank by which items are sorted: columns for CSC, rows for what comes out of CSC."""
        return 1 if self.target.name == "csc" else 0

    @property
    def key(self) -> tuple[int, int]:
        """Where in a word the key lies: shift and bits."""
        return self.shifts[self.key_rank], index_bits(self.shape[self.key_rank])

    @property
    def keys(self) -> int:
        """Keys, and so counters."""
        return self.shape[self.key_rank]

    @property
    def rounds(self) -> int:
        """Divisions, or multiplications, one behind the other that an item needs."""
        return max(1, len(self.shape) - 1)

    def scratchpad(self) -> Scratchpad:
        """The scratchpad for this many keys."""
        window = self.parameters.counters
        return Scratchpad(self.keys, self.nonzeros, self.parameters.scratchpad.banks, window)

    def lanes_of(self, units: int) -> int:
        """Items a cycle of units of which each item needs one a round."""
        return max(1, units // self.rounds)


Maker = Callable[[str, Job, Scratchpad | None], Component]


def _run(of: Format) -> tuple[int, bool]:
    assert isinstance(of, Rlc)
    return of.greatest_run, of.continuation_has_value


def _blocks(name: str, job: Job, _pad: Scratchpad | None) -> Component:
    assert isinstance(job.target, Bsr)
    first_seen = job.parameters.bsr_order == "first_seen"
    grid, places = job.target.grid(job.shape), job.target.block**2
    return gathering.Blocks(name, job.parameters.lanes.words, grid, places, first_seen)


def _divide_blocks(name: str, job: Job, _pad: Scratchpad | None) -> Component:
    assert isinstance(job.target, Bsr)
    across = job.target.grid(job.shape)[1]
    return stages.BlockDivide(name, job.parameters.lanes.divide, job.target.block, across, job.shifts[0])


def _scan(name: str, job: Job, _pad: Scratchpad | None) -> Component:
    return stages.Scan(name, job.parameters.lanes.scan, -1 if job.source.name == "dense" else 0, job.adders)


def _expand(name: str, job: Job, _pad: Scratchpad | None) -> Component:
    return encoding.Expand(name, _words(job), 0 if job.source.name == "csc" else job.shifts[0])


def _words(job: Job) -> int:
    return job.parameters.lanes.words


def _pad(pad: Scratchpad | None) -> Scratchpad:
    assert pad is not None
    return pad


BLOCKS: Mapping[str, Maker] = {
    "compare": lambda name, job, _: stages.Compare(name, _words(job)),
    "increment": lambda name, job, _: stages.Increment(name, _words(job), *_run(job.source)),
    "scan": _scan,
    "scan_mask": lambda name, job, _: stages.MaskScan(name, MASK_BITS, job.adders),
    "pack": lambda name, job, _: stages.Pack(name, _words(job)),
    "divide": lambda name, job, _: stages.Divide(
        name, job.lanes_of(job.parameters.lanes.divide), job.shape, job.shifts
    ),
    "multiply": lambda name, job, _: stages.Multiply(
        name, job.lanes_of(job.parameters.lanes.multiply), job.shape, job.shifts
    ),
    "divide_blocks": _divide_blocks,
    "expand": _expand,
    "tally": lambda name, job, _: encoding.Tally(
        name, _words(job), job.parameters.lanes.scan, job.shape[0], job.shifts[0]
    ),
    "scan_counts": lambda name, job, _: encoding.ScanCounts(
        name, job.parameters.lanes.scan, max(1, len(job.shape) - 1), job.adders
    ),
    "fill": lambda name, job, _: encoding.Fill(name, _words(job), job.size),
    "mask": lambda name, job, _: encoding.Mask(name, _words(job), job.size, MASK_BITS),
    "difference": lambda name, job, _: encoding.Difference(name, _words(job), *_run(job.target)),
    "blocks": _blocks,
    "tree": lambda name, job, _: encoding.Tree(name, _words(job), job.shifts),
    "sort": lambda name, job, _: sorting.Sort(name, job.parameters.lanes.chunk),
    "cluster": lambda name, job, _: sorting.Cluster(name, job.parameters.lanes.chunk),
    "count": lambda name, job, pad: sorting.Count(name, job.parameters.lanes.chunk, _pad(pad)),
    "offsets": lambda name, job, pad: sorting.Offsets(name, job.parameters.lanes.scan, _pad(pad), job.adders),
    "scatter": lambda name, job, pad: sorting.Scatter(
        name, job.parameters.lanes.scatter, _pad(pad), *job.key
    ),
    "drain": lambda name, job, pad: sorting.Drain(name, _words(job), _pad(pad)),
    "turn": lambda name, job, _: sorting.Turn(name, _words(job), *job.key),
}


def latency(block: str, output: str, parameters: MintParameters, shape: Sequence[int]) -> int:
    """Cycles from an item's coming to a block to its being seen behind it.

    Args:
        block: its name in a recipe.
        output: the port by which it leaves.
        parameters: of MINT.
        shape: of the tensor.
    """
    lanes, name = parameters.lanes, family(block).rstrip("_")
    rounds = max(1, len(shape) - 1)
    scan = prefix_sum.depth(parameters.scan_form, lanes.scan)
    levels = (lanes.chunk - 1).bit_length()
    known = {
        "scan": scan,
        "scan_mask": scan,
        "scan_counts": scan,
        "offsets": 1 + scan + 1,  # with the counters' read and write
        "divide": lanes.divide_latency * rounds,
        "divide_blocks": lanes.divide_latency,
        "multiply": lanes.multiply_latency * rounds,
        "sort": max(1, levels * (levels + 1) // 2),
        "count": 2,  # read-modify-write of the counters
        "scatter": 2,
        "tally": 2 if output == "counts" else 1,
    }
    return known.get(name, 1)
