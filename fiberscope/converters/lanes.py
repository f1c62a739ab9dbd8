"""Lines of units between a former of rows and a collector: with what each is made, and its lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fiberscope.converters.arrays import MASK_BITS
from fiberscope.converters.bypass import Join, Peel
from fiberscope.converters.counting import Control, Drain, Ends, Selector
from fiberscope.converters.job import Job, run_of
from fiberscope.converters.recipes import DEFAULT_INPUT, DEFAULT_OUTPUT, Edge, Recipe, kind_of
from fiberscope.converters.rows import Bits, Collector, Former, Increment, Steps
from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.hw.lanes.comparator_bank import NONZERO, ComparatorBank
from fiberscope.hw.lanes.counter_banks import CounterBanks
from fiberscope.hw.lanes.divider import Divider
from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.lanes.position_multiplier import PositionMultiplier
from fiberscope.hw.lanes.prefix_sum import PrefixSum
from fiberscope.hw.lanes.sorting_network import SortingNetwork
from fiberscope.sim import Component

__all__ = ["PARTS", "ROWS", "SUMS", "UNITS", "Line", "Unit", "is_row", "lines", "ports_of"]

ROWS = 2  # that a lane has room for: one that leaves while the next comes
PARTS: Mapping[str, Callable[..., Component]] = {  # each has a twin of this name
    "cluster_counter": ClusterCounter,
    "comparator_bank": ComparatorBank,
    "counter_banks": CounterBanks,
    "divider": Divider,
    "packer": Packer,
    "position_multiplier": PositionMultiplier,
    "prefix_sum": PrefixSum,
    "sorting_network": SortingNetwork,
}


@dataclass(frozen=True)
class Unit:
    """A block that takes rows or gives them.

    Args:
        part: what it is: a name among ``PARTS``, or a class.
        inputs, outputs: its ports for rows; "" where it has none.
        constants: its port for a constant an array, if it has one.
        more: ports for rows that recipes name.
    """

    part: str | type[Component]
    inputs: str = "lanes"
    outputs: str = ""
    constants: str = ""
    more: tuple[str, ...] = ()


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
    "gather": Unit(Former, "", "lanes"),
    "scan_counts": Unit("prefix_sum", outputs="sums"),
    "collect_counts": Unit(Collector),
    "keys": Unit(Selector, "", "lanes"),
    "sort": Unit("sorting_network", outputs="sorted"),
    "cluster": Unit("cluster_counter", "sorted", "clusters"),
    "count": Unit("counter_banks", "updates", more=("fetches", "slots", "counts", "starts", "stored")),
    "offsets": Unit("prefix_sum", outputs="sums"),
    "control": Unit(Control, ""),
    "scatter": Unit(Selector, "", "lanes"),
    "drain": Unit(Drain, "slots"),
    "ends": Unit(Ends, "stored"),
}
SUMS = {"scan", "scan_counts", "offsets"}
FORMERS = ("steps", "increment", "bits", "split", "gather")


def ports_of(edge: Edge) -> tuple[str, str]:
    """The ports at both ends of an edge between units, as they are called there."""
    giver, taker = UNITS[kind_of(edge.block)], UNITS[kind_of(edge.to)]
    return (
        giver.outputs if edge.output == DEFAULT_OUTPUT else edge.output,
        taker.inputs if edge.input == DEFAULT_INPUT else edge.input,
    )


def is_row(edge: Edge) -> bool:
    """Return whether rows go along an edge, and not items."""
    if not UNITS.keys() >= {kind_of(edge.block), kind_of(edge.to)}:
        return False
    giver, taker = UNITS[kind_of(edge.block)], UNITS[kind_of(edge.to)]
    output, port = ports_of(edge)
    return output != "" and output in (giver.outputs, *giver.more) and port in (taker.inputs, *taker.more)


@dataclass(frozen=True)
class Line:
    """A former, units and a collector, one behind the other.

    Args:
        job: what the converter is for.
        blocks: their names in the recipe.
    """

    job: Job
    blocks: tuple[str, ...]

    def lanes(self, block: str, output: str = DEFAULT_OUTPUT) -> int:
        """Lanes of the rows that leave a block, or of those that come to the last."""
        lanes, kind = self.job.parameters.lanes, kind_of(block)
        if kind in ("divide", "peel"):
            return self.job.lanes_of(lanes.divide)
        if kind in ("split", "multiply", "join"):
            return self.job.lanes_of(lanes.multiply)
        place = self.blocks.index(block)
        if place == len(self.blocks) - 1:
            return self.lanes(self.blocks[place - 1])
        if kind == "pack":
            behind = self.blocks[place + 1]
            return self.lanes(behind) if kind_of(behind) == "divide" else lanes.words
        return lanes.scan

    def room(self, block: str) -> int:
        """Tokens that a block may push into a channel of items in a cycle."""
        return 1 + self.lanes(block)

    @property
    def constants(self) -> list[tuple[str, int]]:
        """The blocks that take a constant an array, with it."""
        return [(block, self._constant(block)) for block in self.blocks if UNITS[kind_of(block)].constants]

    def _constant(self, block: str) -> int:
        """Return the constant of the line: the last rank for dividers, the second rank for multipliers."""
        turn = int(block.partition("_")[2] or 1)
        return self.job.shape[-turn if kind_of(block) == "divide" else turn]

    def arguments(self, block: str) -> tuple[object, ...]:
        """Return the arguments of a block, behind its name."""
        job, kind, lanes = self.job, kind_of(block), self.lanes(block)
        constants = [constant for _block, constant in self.constants]
        if kind == "divide":
            return (lanes, job.position_bits, job.division_bits)
        if block == self.blocks[-1]:
            return (lanes, self._collected())
        own: Mapping[str, tuple[object, ...]] = {
            "increment": (lanes, *run_of(job.source), constants) if kind == "increment" else (),
            "steps": (lanes, (0,), constants),
            "gather": (lanes,),
            "bits": (lanes, MASK_BITS, constants),
            "split": (lanes, job.shifts, constants),
            **dict.fromkeys(SUMS, (job.parameters.scan_form, lanes, job.position_bits)),
            "compare": (lanes, NONZERO),
            "pack": (job.parameters.lanes.scan, lanes),
            "multiply": (lanes, job.position_bits),
            "peel": (lanes,),
            "join": (lanes,),
        }
        return own[kind]

    def _collected(self) -> list[int]:
        """Return the places of coordinate, reference and rests in an item's word, the last rest first."""
        if not any(kind_of(block) == "divide" for block in self.blocks):
            return [0]
        first, second, *rests = self.job.shifts
        return [first, second, *reversed(rests)]


def lines(recipe: Recipe, job: Job) -> Iterator[Line]:
    """The lines of a recipe."""
    behind = {edge.block: edge.to for edge in recipe.edges if is_row(edge)}
    for block in recipe.blocks:
        if kind_of(block) in FORMERS:
            line = [block]
            while line[-1] in behind:
                line.append(behind[line[-1]])
            yield Line(job, tuple(line))
