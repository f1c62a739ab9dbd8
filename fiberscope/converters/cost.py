"""The cost of a conversion in closed form: cycles and operations, computed from shape and nonzeros.

The formulas count beats. A beat is one cycle in which the items in all lanes of a block move together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fiberscope.accelerators.configuration import layers, validate
from fiberscope.converters.arrays import MASK_BITS
from fiberscope.converters.blocks import latency
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.lines import LINE_BITS
from fiberscope.converters.recipes import Recipe, kind_of, recipe
from fiberscope.hw.lanes import prefix_sum
from fiberscope.workloads.formats import Format, format_called
from fiberscope.workloads.formats.format import Layout

CONFIGURATION = Path(__file__).parent / "config.yaml"
READ, WRITE, DRAIN = "read", "write", "drain"
KEYS = ("keys", "sort", "cluster", "count")  # blocks that count keys
SLOTS = ("control", "offsets", "scatter")  # blocks that compute the slots of items from the counts


@dataclass(frozen=True)
class ConversionCost:
    """The cost of a conversion, without the cost of memory.

    Args:
        streaming: cycles of the part that runs while the source arrives from memory.
        two_pass: cycles of the part after that: summing counters, scattering and storing. It is 0 for a
            conversion in one pass.
        operations: number of operations of all blocks, by name. Counter operations are counted as if all keys
            of a beat were different.
    """

    streaming: int
    two_pass: int
    operations: Mapping[str, int]

    @property
    def cycles(self) -> int:
        """Return the cycles of both parts together."""
        return self.streaming + self.two_pass


@cache
def shipped_parameters() -> MintParameters:
    """Return the shipped parameters of MINT."""
    entries = layers(CONFIGURATION, name="mint", file=None, settings={})
    return validate(MintParameters, entries, "mint")


def conversion_cost(
    source: str | Format,
    target: str | Format,
    shape: Sequence[int],
    nonzeros: float,
    bits: int = 32,
    parameters: MintParameters | None = None,
    counts: Mapping[str, float] | None = None,
) -> ConversionCost:
    """Return the cost of converting a tensor; a conversion to the same format costs nothing.

    Args:
        source, target: formats, or their names.
        shape: shape of the tensor.
        nonzeros: number of nonzeros of the tensor.
        bits: bits of a value.
        parameters: parameters of MINT; the shipped parameters by default.
        counts: further counts that determine a layout, such as ``entries`` of RLC. The default is the
            expected counts for uniformly distributed nonzeros.

    Raises:
        WorkloadError: if no recipe exists.
    """
    start, end = (format_called(form) if isinstance(form, str) else form for form in (source, target))
    chosen = parameters or shipped_parameters()
    way = recipe(start.name, end.name, len(shape), chosen.lanes.chunk)
    if start == end:
        return ConversionCost(0, 0, {})
    return _Cost(way, start, end, shape, nonzeros, bits, chosen, counts).total()


class _Cost:
    """The computation of the cost of one conversion; the arguments are those of ``conversion_cost``.

    A conversion in one pass takes as many cycles as its slowest block has beats, minus one, plus the longest
    latency from the reader to the end of a write.
    """

    def __init__(
        self,
        way: Recipe,
        source: Format,
        target: Format,
        shape: Sequence[int],
        nonzeros: float,
        bits: int,
        parameters: MintParameters,
        counts: Mapping[str, float] | None,
    ) -> None:
        self.way, self.shape, self.nonzeros, self.parameters = way, shape, nonzeros, parameters
        self.size = math.prod(shape)
        self.source = _spans(source, shape, nonzeros, bits, counts)
        self.target = _spans(target, shape, nonzeros, bits, counts)
        self.rounds = max(1, len(shape) - 1)
        self.keys = shape[1] if target.name == "csc" else shape[0]

    def total(self) -> ConversionCost:
        """Return the cycles and operations of the conversion."""
        if self.way.is_two_pass:
            return ConversionCost(*self._two_passes(), self._operations())
        front = [block for block in self.way.blocks if block != WRITE]
        beats = max(self._input_beats(self.source), self._output_beats(), *map(self._beats, front))
        return ConversionCost(beats - 1 + self._tail_latency(READ), 0, self._operations())

    def _two_passes(self) -> tuple[int, int]:
        """Return the cycles of counting the keys, and of summing counters, scattering and storing."""
        lanes = self.parameters.lanes
        window = min(self.keys, self.parameters.counters)
        ranges = math.ceil(self.keys / window)
        front = [block for block in self.way.blocks if self._is_front(block)] if self._is_turned() else []
        reading = self._input_beats(self.source) if front else 0
        decoded = max([reading, *map(self._beats, front)])
        counted = self._latencies(*(block for block in KEYS if block in self.way.blocks))
        first = max(decoded, _rows(self.nonzeros, lanes.chunk)) - 1 + self._latencies(READ, *front) + counted
        swept = _rows(window, lanes.scan)
        summed = swept - 1 + self._latencies("offsets")
        # The source is decoded again for scattering, and this overlaps with counting and summing.
        again = decoded - counted - summed  # cycles of the second decoding left when scattering begins
        scattered = max(_rows(self.nonzeros, lanes.scatter), again) - 1 + self._latencies("count", DRAIN)
        behind = [block for block in self.way.blocks if self._is_behind(block)]
        stored = max(self._output_beats(), *map(self._beats, behind)) + self._tail_latency(DRAIN) - 1
        return first, (ranges - 1) * (first + summed + scattered + swept) + summed + scattered + stored

    def _latencies(self, *blocks: str) -> int:
        return sum(self._latency(block, "results") for block in blocks)

    def _is_turned(self) -> bool:
        return "turn" in self.way.blocks

    def _is_front(self, block: str) -> bool:
        """Return whether a block decodes the source, before keys are counted."""
        return block not in (READ, WRITE, *KEYS, *SLOTS) and not self._is_behind(block)

    def _is_behind(self, block: str) -> bool:
        """Return whether a block works on items in their new order."""
        order = self.way.blocks
        return block != WRITE and order.index(block) >= order.index(DRAIN)

    def _tail_latency(self, block: str) -> int:
        """Return the longest latency from an item's arrival at a block to the end of its write."""
        if block == WRITE:
            return 1
        edges = [edge for edge in self.way.edges if edge.block == block and edge.to != READ]
        return max(self._latency(block, edge.output) + self._tail_latency(edge.to) for edge in edges)

    def _latency(self, block: str, output: str) -> int:
        return latency(block, output, self.parameters, self.shape)

    def _input_beats(self, spans: Layout) -> int:
        return _beats(sum(span.bits for span in spans), LINE_BITS)

    def _words(self, spans: Layout) -> float:
        """Return the number of words on the chip: one per item, but one per ``MASK_BITS`` bits of a mask."""
        return sum(
            math.ceil(span.length / MASK_BITS) if span.name == "mask" else span.length for span in spans
        )

    def _output_beats(self) -> int:
        return _beats(self._words(self.target), self.parameters.lanes.words)

    def _count(self, spans: Layout, name: str) -> float:
        return sum(span.length for span in spans if span.name == name)

    def _pointers(self, spans: Layout, level: str = "") -> float:
        """Return the number of pointers of a level, or of all levels."""
        names = ("row_ptr", "col_ptr", f"pos_{level}")
        return sum(span.length for span in spans if span.name.startswith(names))

    def _items(self, block: str) -> float:
        """Return the number of items that pass a block."""
        name = kind_of(block)
        if name == "fill":
            return self.size
        if name in ("steps", "bits", "increment", "scan", "compare"):
            return self._count(self.source, "runs") or self.size
        if name == "difference":
            return self._count(self.target, "runs")
        if name in ("gather", "scan_counts", "collect_counts"):
            return self._pointers(self.target, block.rpartition("_")[2])
        if name == "expand":
            return max(self.nonzeros, self._pointers(self.source))
        if name == "blocks":
            return self._count(self.target, "values")
        if name == "offsets":
            return self.keys
        return self.nonzeros

    def _beats(self, block: str) -> int:
        if block == READ:
            return 0
        name, lanes = kind_of(block), self.parameters.lanes
        beats = {
            **dict.fromkeys(("steps", "increment"), min(lanes.scan, lanes.words)),
            **dict.fromkeys(("bits", "scan", "compare", "offsets"), lanes.scan),
            **dict.fromkeys(("gather", "scan_counts", "collect_counts"), lanes.scan),
            **dict.fromkeys(("divide", "peel"), max(1, lanes.divide // self.rounds)),
            "divide_blocks": lanes.divide,
            **dict.fromkeys(("split", "multiply", "join"), max(1, lanes.multiply // self.rounds)),
        }
        chunked = lanes.chunk if name in KEYS else lanes.words
        return _beats(self._items(block), beats.get(name, chunked))

    def _operations(self) -> dict[str, int]:
        """Return the operations of all blocks by name; blocks that decode in both passes count twice."""
        operations: dict[str, int] = {}
        for block in self.way.blocks:
            twice = 2 if self._is_turned() and self._is_front(block) else 1
            for name, number in self._done(kind_of(block), block).items():
                operations[name] = operations.get(name, 0) + twice * math.ceil(number)
        return operations

    def _done(self, name: str, block: str) -> Mapping[str, float]:
        """Return the operations of a block by name.

        Args:
            name: kind of the block.
            block: name of the block.
        """
        lanes, items = self.parameters.lanes, self._items(block)
        adders = prefix_sum.adders(self.parameters.scan_form, lanes.scan)
        if name in ("scan", "scan_counts", "offsets"):
            return {"add": adders * self._beats(block)}
        if name == "sort":
            levels = (lanes.chunk - 1).bit_length()
            return {"compare_exchange": lanes.chunk // 2 * levels * (levels + 1) // 2 * self._beats(block)}
        operations: Mapping[str, tuple[str, float]] = {
            "divide": ("divide", items),
            "divide_blocks": ("divide", 2 * items),
            "multiply": ("multiply", items),
            "compare": ("compare", items),
            "expand": ("compare", self._pointers(self.source)),
            "count": ("count", items),
            "tally": ("count", items),
            "scatter": ("scatter", items),
        }
        return dict([operations[name]]) if name in operations else {}


def _beats(items: float, lanes: int) -> int:
    return math.ceil(items / lanes)


def _rows(items: float, lanes: int) -> int:
    """Return the number of rows of an array, the last of which contains a stop."""
    return int(items // lanes) + 1


def _spans(
    form: Format, shape: Sequence[int], nonzeros: float, bits: int, counts: Mapping[str, float] | None
) -> Layout:
    """Return the layout of a format's arrays, with expected counts where ``counts`` has none."""
    expected = form.expected_counts(shape, nonzeros / max(1, math.prod(shape)))
    return form.layout(shape, {**expected, "nonzeros": nonzeros, **(counts or {})}, bits)
