"""The units that count keys, sum the counts and compute the slots of items, with their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.converters.job import Job
from fiberscope.converters.lanes import UnitChain
from fiberscope.converters.recipes import DEFAULT_OUTPUT, Recipe
from fiberscope.hw.lanes.counter_protocol import COUNT, FETCH, READ, SCAN
from fiberscope.workloads.formats import index_bits

BLOCKS = ("keys", "sort", "cluster", "control", "count", "offsets", "scatter", "drain", "ends")


@dataclass(frozen=True)
class Counters(UnitChain):
    """The units around the banked counters of a two-pass recipe.

    Args:
        has_pointers: whether the target has pointers, which are the ends of the items of each key.
    """

    has_pointers: bool

    @classmethod
    def from_recipe(cls, recipe: Recipe, job: Job) -> Counters:
        """Return the units around the counters of a recipe, which must have two passes."""
        blocks = tuple(block for block in BLOCKS if block in recipe.blocks)
        has_pointers = any(edge.producer == "ends" for edge in recipe.edges)
        return cls(job, blocks, has_pointers)

    def lanes(self, block: str, output: str = DEFAULT_OUTPUT) -> int:
        """Return the number of lanes of the rows that leave a block at an output port."""
        lanes = self.job.parameters.lanes
        if block == "scatter" or output == "slots":
            return lanes.scatter
        return lanes.scan if block in ("count", "offsets") else lanes.chunk

    def max_tokens(self, block: str) -> int:
        """Return the largest number of tokens that a block pushes into a channel of items in one cycle."""
        lanes = self.job.parameters.lanes
        # Further tokens: a stop of each; the 0 before the first pointer
        return {"drain": lanes.words + 1, "ends": lanes.scan + 2}.get(block, lanes.scatter)

    def arguments(self, block: str) -> tuple[object, ...]:
        """Return the arguments of a block's constructor after the instance name."""
        job, lanes = self.job, self.job.parameters.lanes
        window, ranges = job.window, job.ranges
        arguments_by_block: Mapping[str, tuple[object, ...]] = {
            "keys": (lanes.chunk, window),
            "sort": (lanes.chunk, index_bits(window)),
            "cluster": (lanes.chunk, index_bits(window)),
            "control": (self.program,),
            "count": (window, lanes.chunk, lanes.scan, lanes.scatter, job.parameters.scratchpad.banks),
            "offsets": (job.parameters.scan_form, lanes.scan, job.position_bits),
            "scatter": (lanes.scatter, window, *job.key_field),
            "drain": (lanes.scatter, lanes.words, ranges, job.nonzeros),
            "ends": (lanes.scan, ranges),
        }
        return arguments_by_block[block]

    @property
    def program(self) -> list[tuple[int, int]]:
        """Return the commands for the counters: pairs of a command and a number of counters.

        For each range of keys, COUNT takes the keys, SCAN replaces the counts by the first slots of the keys,
        and FETCH returns the slot of each item. READ returns the counters for the pointers and clears them
        for the next range of keys. COUNT and FETCH end with the stop of their input, and need no number.
        """
        job, commands = self.job, []
        for first in range(0, job.key_count, job.window):
            count = min(job.window, job.key_count - first)
            is_last_range = first + count == job.key_count
            commands += [(COUNT, 0), (SCAN, count), (FETCH, 0)]
            # FETCH has advanced each counter by its items: it is now the end of the key's items, a pointer
            commands += [(READ, count)] if self.has_pointers or not is_last_range else []
        return commands
