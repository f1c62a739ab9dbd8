"""Lines of units between a former of rows and a collector: with what each is made, and its lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from fiberscope.converters.arrays import MASK_BITS
from fiberscope.converters.job import Job, run_of
from fiberscope.converters.moves import PACK, PASS, PIPE
from fiberscope.converters.recipes import DEFAULT_INPUT, DEFAULT_OUTPUT, Edge, Recipe, kind_of
from fiberscope.converters.rests import Join, Peel
from fiberscope.converters.rows import Bits, Collector, Former, Increment, Steps
from fiberscope.converters.together import Together
from fiberscope.hw.lanes import divider, position_multiplier, prefix_sum
from fiberscope.hw.lanes.comparator_bank import NONZERO, ComparatorBank
from fiberscope.hw.lanes.divider import Divider
from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.lanes.position_multiplier import PositionMultiplier
from fiberscope.hw.lanes.prefix_sum import PrefixSum
from fiberscope.sim import Component

__all__ = ["PARTS", "ROWS", "UNITS", "Line", "Unit", "is_row", "lines"]

ROWS = 2  # that a lane has room for: one that leaves while the next comes
PARTS: Mapping[str, Callable[..., Component]] = {  # each has a twin of this name
    "comparator_bank": ComparatorBank,
    "divider": Divider,
    "packer": Packer,
    "position_multiplier": PositionMultiplier,
    "prefix_sum": PrefixSum,
}


@dataclass(frozen=True)
class Unit:
    """A block that takes rows or gives them.

    Args:
        part: what it is: a name among ``PARTS``, or a class.
        inputs, outputs: its ports for rows; "" where it has none.
        constants: its port for a constant an array, if it has one.
    """

    part: str | type[Component]
    inputs: str = "lanes"
    outputs: str = ""
    constants: str = ""


UNITS: Mapping[str, Unit] = {  # by the kind of block
    "steps": Unit(Steps, "", "lanes"),
    "increment": Unit(Increment, "", "lanes"),
    "bits": Unit(Bits, "", "lanes"),
    "split": Unit(Former, "", "lanes"),
    "scan": Unit("prefix_sum", outputs="sums"),
    "compare": Unit("comparator_bank", outputs="kept"),
    "pack": Unit("packer", outputs="packed"),
    "divide": Unit("divider", "dividends", "results", "divisors"),
    "peel": Unit(Peel, outputs="parted"),
    "multiply": Unit("position_multiplier", outputs="products", constants="factors"),
    "join": Unit(Join, outputs="joined"),
    "collect": Unit(Collector),
}
FORMERS = tuple(kind for kind, unit in UNITS.items() if not unit.inputs)


def is_row(edge: Edge) -> bool:
    """Whether rows go along an edge, and not items."""
    return (edge.output, edge.input) == (DEFAULT_OUTPUT, DEFAULT_INPUT) and (
        kind_of(edge.block) in UNITS and kind_of(edge.to) in UNITS
    )


@dataclass(frozen=True)
class Line:
    """A former, units and a collector, one behind the other.

    Args:
        job: what the converter is for.
        blocks: their names in the recipe.
    """

    job: Job
    blocks: tuple[str, ...]

    def lanes(self, block: str) -> int:
        """Lanes of the rows that leave a block, or of those that come to the last."""
        given, kind = self.job.parameters.lanes, kind_of(block)
        if kind in ("divide", "peel"):
            return self.job.lanes_of(given.divide)
        if kind in ("split", "multiply", "join"):
            return self.job.lanes_of(given.multiply)
        place = self.blocks.index(block)
        if kind == "collect":
            return self.lanes(self.blocks[place - 1])
        if kind == "pack":
            behind = self.blocks[place + 1]
            return self.lanes(behind) if kind_of(behind) == "divide" else given.words
        return given.scan

    @property
    def constants(self) -> list[tuple[str, int]]:
        """The blocks that take a constant an array, with it."""
        return [(block, self._constant(block)) for block in self.blocks if UNITS[kind_of(block)].constants]

    def _constant(self, block: str) -> int:
        """Of the ranks, the dividers take the last first, the multipliers the second."""
        turn = int(block.partition("_")[2] or 1)
        return self.job.shape[-turn if kind_of(block) == "divide" else turn]

    def arguments(self, block: str) -> tuple[object, ...]:
        """What a block is made with, behind its name."""
        job, kind, lanes = self.job, kind_of(block), self.lanes(block)
        constants = [constant for _block, constant in self.constants]
        if kind == "divide":
            return (lanes, job.position_bits, job.division_bits)
        if kind == "collect":
            return (lanes, self._collected())
        own: Mapping[str, tuple[object, ...]] = {
            "increment": (lanes, *run_of(job.source), constants) if kind == "increment" else (),
            "steps": (lanes, (0,), constants),
            "bits": (lanes, MASK_BITS, constants),
            "split": (lanes, job.shifts, constants),
            "scan": (job.parameters.scan_form, lanes, job.position_bits),
            "compare": (lanes, NONZERO),
            "pack": (job.parameters.lanes.scan, lanes),
            "multiply": (lanes, job.position_bits),
            "peel": (lanes,),
            "join": (lanes,),
        }
        return own[kind]

    def together(self, name: str) -> Together | None:
        """What takes the place of all of them; None where items have more than two coordinates."""
        job, kinds = self.job, [kind_of(block) for block in self.blocks]
        if "peel" in kinds or "join" in kinds:
            return None
        first, last = self.blocks[0], self.blocks[-1]
        former = cast("Callable[..., Former]", UNITS[kinds[0]].part)(f"{name}.former", *self.arguments(first))
        constant = self.constants[0][1] if self.constants else 0
        return Together(
            name,
            former,
            [self._moves(block) for block in self.blocks[1:-1]],
            ROWS,
            [job.parameters.wire(kind) for kind in kinds[:-1]],
            self.lanes(last),
            self._collected(),
            divisor=constant if "divide" in kinds else 0,
            factor=constant if "multiply" in kinds else 0,
            drops="compare" in kinds,
            sums="scan" in kinds,
        )

    def _moves(self, block: str) -> tuple[int, int]:
        """What a unit does to rows, and its stages, or the lanes of the rows that it packs."""
        job, kind, lanes = self.job, kind_of(block), self.lanes(block)
        known = {
            "scan": (PIPE, prefix_sum.depth(job.parameters.scan_form, lanes)),
            "compare": (PASS, 0),
            "pack": (PACK, lanes),
            "divide": (PIPE, divider.depth(job.position_bits, job.division_bits)),
            "multiply": (PIPE, position_multiplier.DEPTH - 1),
        }
        return known[kind]

    def _collected(self) -> list[int]:
        """Where in an item's word coordinate, reference and rests lie, the last rest first."""
        if not any(kind_of(block) == "divide" for block in self.blocks):
            return [0]
        first, second, *rests = self.job.shifts
        return [first, second, *reversed(rests)]


def lines(recipe: Recipe, job: Job) -> Iterator[Line]:
    """The lines of a recipe."""
    behind = {edge.block: edge.to for edge in recipe.edges if is_row(edge)}
    for block in recipe.blocks:
        if kind_of(block) in FORMERS:
            found = [block]
            while found[-1] in behind:
                found.append(behind[found[-1]])
            yield Line(job, tuple(found))
