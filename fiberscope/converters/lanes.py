"""Chains of a former, units of ``fiberscope.hw.lanes``, and a collector.

This module has the units of each kind of block in a recipe, their ports, their constructor arguments, and
their number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fiberscope.converters.arrays import MASK_BITS
from fiberscope.converters.bypass import OffsetJoin, RemainderSplit
from fiberscope.converters.counting import Control, Drain, Ends, Selector
from fiberscope.converters.job import Job, run_limits
from fiberscope.converters.recipes import DEFAULT_INPUT, DEFAULT_OUTPUT, Edge, Recipe, parse_kind
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

ROWS = 2  # capacity of a lane's channel in rows: one row leaves while the next row arrives
PARTS: Mapping[str, Callable[..., Component]] = {  # for each part there is a Verilog module of the same name
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
    """A block that reads or writes rows.

    Args:
        part: name of the part in ``PARTS``, or the class of the component.
        inputs, outputs: default port for rows at each side; "" if the block has none.
        constants: port that takes one constant for each array; "" if the block has none.
        further_ports: further ports for rows, which recipes name explicitly.
    """

    part: str | type[Component]
    inputs: str = "lanes"
    outputs: str = ""
    constants: str = ""
    further_ports: tuple[str, ...] = ()


COUNTER_PORTS = ("fetches", "slots", "counts", "starts", "stored")
UNITS: Mapping[str, Unit] = {  # by the kind of block
    "steps": Unit(Steps, "", "lanes"),
    "increment": Unit(Increment, "", "lanes"),
    "bits": Unit(Bits, "", "lanes"),
    "split": Unit(Former, "", "lanes"),
    "scan": Unit("prefix_sum", outputs="sums"),
    "compare": Unit("comparator_bank", outputs="kept"),
    "pack": Unit("packer", outputs="packed"),
    "divide": Unit("divider", "dividends", "results", "divisors"),
    "peel": Unit(RemainderSplit, outputs="parted"),
    "multiply": Unit("position_multiplier", outputs="products", constants="factors"),
    "join": Unit(OffsetJoin, outputs="joined"),
    "collect": Unit(Collector),
    "gather": Unit(Former, "", "lanes"),
    "scan_counts": Unit("prefix_sum", outputs="sums"),
    "collect_counts": Unit(Collector),
    "keys": Unit(Selector, "", "lanes"),
    "sort": Unit("sorting_network", outputs="sorted"),
    "cluster": Unit("cluster_counter", "sorted", "clusters"),
    "count": Unit("counter_banks", "updates", further_ports=COUNTER_PORTS),
    "offsets": Unit("prefix_sum", outputs="sums"),
    "control": Unit(Control, ""),
    "scatter": Unit(Selector, "", "lanes"),
    "drain": Unit(Drain, "slots"),
    "ends": Unit(Ends, "stored"),
}
SUMS = {"scan", "scan_counts", "offsets"}  # kinds of blocks that are prefix sums
FORMERS = ("steps", "increment", "bits", "split", "gather")


def name_ports(edge: Edge) -> tuple[str, str]:
    """Return the names of the output port and the input port that an edge between units connects.

    A port that the recipe does not name is the default port for rows of its unit.

    Raises:
        KeyError: the producer or the consumer is no unit, but a stage, the reader or the writer.
    """
    producer, consumer = UNITS[parse_kind(edge.producer)], UNITS[parse_kind(edge.consumer)]
    return (
        producer.outputs if edge.output == DEFAULT_OUTPUT else edge.output,
        consumer.inputs if edge.input == DEFAULT_INPUT else edge.input,
    )


def is_row(edge: Edge) -> bool:
    """Return whether an edge carries rows, and not items: both its ports are ports for rows of units."""
    if not UNITS.keys() >= {parse_kind(edge.producer), parse_kind(edge.consumer)}:
        return False
    producer, consumer = UNITS[parse_kind(edge.producer)], UNITS[parse_kind(edge.consumer)]
    output, port = name_ports(edge)
    row_outputs = (producer.outputs, *producer.further_ports)
    return output != "" and output in row_outputs and port in (consumer.inputs, *consumer.further_ports)


@dataclass(frozen=True)
class UnitChain:
    """A chain of a former, units and a collector.

    Args:
        job: job of the converter.
        blocks: names of the blocks in the recipe, in the order of the chain.
    """

    job: Job
    blocks: tuple[str, ...]

    def lanes(self, block: str, output: str = DEFAULT_OUTPUT) -> int:
        """Return the number of lanes of the rows that leave a block; for the last block, that enter it."""
        lanes, kind = self.job.parameters.lanes, parse_kind(block)
        if kind in ("divide", "peel"):
            return self.job.lanes_per_round(lanes.divide)
        if kind in ("split", "multiply", "join"):
            return self.job.lanes_per_round(lanes.multiply)
        # The last block is a collector, which takes the rows of its predecessor as they are
        index = self.blocks.index(block)
        if index == len(self.blocks) - 1:
            return self.lanes(self.blocks[index - 1])
        if kind == "pack":
            # A packer also adapts the number of lanes to its successor
            successor = self.blocks[index + 1]
            return self.lanes(successor) if parse_kind(successor) == "divide" else lanes.words
        return lanes.scan

    def max_tokens(self, block: str) -> int:
        """Return the largest number of tokens that a block pushes into a channel of items in one cycle."""
        # A stop can leave with the last items
        return 1 + self.lanes(block)

    @property
    def constants(self) -> list[tuple[str, int]]:
        """Return the blocks that take one constant for each array, with these constants."""
        return [(block, self._constant(block)) for block in self.blocks if UNITS[parse_kind(block)].constants]

    def _constant(self, block: str) -> int:
        """Return the constant of a divider or a multiplier: the length of a rank.

        The first divider divides by the last rank, ``divide_2`` by the rank before it, and so on. The first
        multiplier multiplies by the second rank, ``multiply_2`` by the third rank, and so on.
        """
        number = int(block.partition("_")[2] or 1)
        return self.job.shape[-number if parse_kind(block) == "divide" else number]

    def arguments(self, block: str) -> tuple[object, ...]:
        """Return the arguments of a block's constructor after the instance name.

        Raises:
            KeyError: the block belongs to no chain of a former and a collector; see ``Counters``.
        """
        job, kind, lanes = self.job, parse_kind(block), self.lanes(block)
        constants = [constant for _block, constant in self.constants]
        if kind == "divide":
            return (lanes, job.position_bits, job.parameters.division_bits)
        if block == self.blocks[-1]:
            return (lanes, self._collector_shifts())
        arguments_by_kind: Mapping[str, tuple[object, ...]] = {
            # Only for its own kind, as ``run_limits`` refuses a source other than RLC
            "increment": (lanes, *run_limits(job.source), constants) if kind == "increment" else (),
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
        return arguments_by_kind[kind]

    def _collector_shifts(self) -> list[int]:
        """Return the shifts of coordinate, reference and rests in an item's word, the last rest first."""
        if not any(parse_kind(block) == "divide" for block in self.blocks):
            return [0]
        # The first divider divides by the last rank, so that the first rest is the last coordinate
        first, second, *rests = self.job.shifts
        return [first, second, *reversed(rests)]


def iterate_unit_chains(recipe: Recipe, job: Job) -> Iterator[UnitChain]:
    """Yield the chains of a recipe, one for each former: the former and all blocks that follow it by rows."""
    successors = {edge.producer: edge.consumer for edge in recipe.edges if is_row(edge)}
    for block in recipe.blocks:
        if parse_kind(block) in FORMERS:
            chain = [block]
            while chain[-1] in successors:
                chain.append(successors[chain[-1]])
            yield UnitChain(job, tuple(chain))
