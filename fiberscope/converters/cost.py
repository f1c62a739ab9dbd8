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
from fiberscope.converters.arrays import count_words_on_chip
from fiberscope.converters.blocks import latency
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.lines import LINE_BITS
from fiberscope.converters.recipes import Recipe, find_recipe, parse_kind
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
        streaming: cycles of the part that runs while the source arrives from memory: the whole conversion in
            one pass, or counting the first range of keys.
        two_pass: cycles of the part after that: summing counters, scattering and storing, and counting any
            further range of keys. It is 0 for a conversion in one pass.
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
def load_shipped_parameters() -> MintParameters:
    """Return the shipped parameters of MINT, from ``config.yaml``, read once."""
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
        WorkloadError: if a format does not exist, or no recipe exists.
    """
    start, end = (format_called(form) if isinstance(form, str) else form for form in (source, target))
    parameters = parameters or load_shipped_parameters()
    blocks = find_recipe(start.name, end.name, len(shape), parameters.lanes.chunk)
    if start == end:
        return ConversionCost(0, 0, {})
    return _Cost(blocks, start, end, shape, nonzeros, bits, parameters, counts).total()


class _Cost:
    """The computation of the cost of one conversion.

    The arguments are the recipe and those of ``conversion_cost``, with formats and not their names.

    A conversion in one pass takes as many cycles as its slowest block has beats, minus one, plus the longest
    latency from the reader to the end of a write: the last of n beats is n - 1
    cycles behind the first. A conversion in two passes is a sequence of such parts.
    """

    def __init__(
        self,
        recipe: Recipe,
        source: Format,
        target: Format,
        shape: Sequence[int],
        nonzeros: float,
        bits: int,
        parameters: MintParameters,
        counts: Mapping[str, float] | None,
    ) -> None:
        self.recipe, self.shape, self.nonzeros, self.parameters = recipe, shape, nonzeros, parameters
        self.size = math.prod(shape)
        self.source = _layout_spans(source, shape, nonzeros, bits, counts)
        self.target = _layout_spans(target, shape, nonzeros, bits, counts)
        self.rounds = max(1, len(shape) - 1)
        self.keys = shape[1] if target.name == "csc" else shape[0]

    def total(self) -> ConversionCost:
        """Return the cycles and operations of the conversion."""
        if self.recipe.is_two_pass:
            return ConversionCost(*self._two_passes(), self._operations())
        # The writer is left out, since ``_output_beats`` counts words of all arrays, and not items
        blocks = [block for block in self.recipe.blocks if block != WRITE]
        beats = max(self._input_beats(self.source), self._output_beats(), *map(self._beats, blocks))
        return ConversionCost(beats - 1 + self._tail_latency(READ), 0, self._operations())

    def _two_passes(self) -> tuple[int, int]:
        """Return the cycles of counting the keys, and of summing counters, scattering and storing."""
        lanes = self.parameters.lanes
        window = min(self.keys, self.parameters.counters)
        ranges = math.ceil(self.keys / window)
        is_read_twice = self._is_read_twice()
        decoders = [block for block in self.recipe.blocks if is_read_twice and self._is_decoder(block)]
        read_beats = self._input_beats(self.source) if decoders else 0
        decode_beats = max([read_beats, *map(self._beats, decoders)])
        count_latency = self._latencies(*(block for block in KEYS if block in self.recipe.blocks))
        count_beats = max(decode_beats, _count_rows(self.nonzeros, lanes.chunk))
        count = count_beats - 1 + self._latencies(READ, *decoders) + count_latency
        sweep = _count_rows(window, lanes.scan)  # cycles of reading all counters of a range
        prefix_sum_cycles = sweep - 1 + self._latencies("offsets")
        # The second decoding of the source overlaps with counting and summing, and limits scattering only
        # with the beats that remain.
        remaining_beats = decode_beats - count_latency - prefix_sum_cycles
        scatter_beats = max(_count_rows(self.nonzeros, lanes.scatter), remaining_beats)
        rearrange = prefix_sum_cycles + scatter_beats - 1 + self._latencies("count", DRAIN)
        encoders = [block for block in self.recipe.blocks if self._is_after_drain(block)]
        store = max(self._output_beats(), *map(self._beats, encoders)) + self._tail_latency(DRAIN) - 1
        # After each range but the last, another sweep clears the counters
        return count, (ranges - 1) * (count + rearrange + sweep) + rearrange + store

    def _latencies(self, *blocks: str) -> int:
        return sum(self._latency(block, "results") for block in blocks)

    def _is_read_twice(self) -> bool:
        """Return whether the source has no array of keys, and is decoded for counting and for scattering."""
        return "turn" in self.recipe.blocks

    def _is_decoder(self, block: str) -> bool:
        """Return whether a block decodes the source, before keys are counted."""
        return block not in (READ, WRITE, *KEYS, *SLOTS) and not self._is_after_drain(block)

    def _is_after_drain(self, block: str) -> bool:
        """Return whether a block works on items in their new order; only for a recipe with two passes."""
        order = self.recipe.blocks
        return block != WRITE and order.index(block) >= order.index(DRAIN)

    def _tail_latency(self, block: str) -> int:
        """Return the longest latency from an item's arrival at a block to the end of its write."""
        if block == WRITE:
            return 1
        edges = [edge for edge in self.recipe.edges if edge.producer == block and edge.consumer != READ]
        return max(self._latency(block, edge.output) + self._tail_latency(edge.consumer) for edge in edges)

    def _latency(self, block: str, output: str) -> int:
        return latency(block, output, self.parameters, self.shape)

    def _input_beats(self, spans: Layout) -> int:
        return math.ceil(sum(span.bits for span in spans) / LINE_BITS)

    def _output_beats(self) -> int:
        return math.ceil(count_words_on_chip(self.target) / self.parameters.lanes.words)

    def _count(self, spans: Layout, name: str) -> float:
        return sum(span.length for span in spans if span.name == name)

    def _pointers(self, spans: Layout, block: str) -> float:
        """Return the pointers of a block: those of level 2 for ``expand_2``, of the matrix for ``expand``."""
        names = ("row_ptr", "col_ptr", f"pos_{block.rpartition('_')[2]}")
        return sum(span.length for span in spans if span.name in names)

    def _items(self, block: str) -> float:
        """Return the number of items that pass a block."""
        name = parse_kind(block)
        if name == "fill":
            return self.size
        if name in ("steps", "bits", "increment", "scan", "compare"):
            # An RLC source has an item for each entry, a dense source or a mask one for each position
            return self._count(self.source, "runs") or self.size
        if name == "difference":
            return self._count(self.target, "runs")
        if name in ("gather", "scan_counts", "collect_counts"):
            return self._pointers(self.target, block)
        if name == "expand":
            # A beat takes an item in each lane and as many pointers, so that the larger number counts
            return max(self.nonzeros, self._pointers(self.source, block))
        if name == "blocks":
            return self._count(self.target, "values")
        if name == "offsets":
            return self.keys
        return self.nonzeros

    def _beats(self, block: str) -> int:
        """Return the number of beats in which the items pass a block; 0 for the reader."""
        if block == READ:
            return 0
        name, lanes = parse_kind(block), self.parameters.lanes
        default_lanes = lanes.chunk if name in KEYS else lanes.words
        lanes_by_kind = {
            # The reader brings ``words`` items a cycle, even if the prefix sum has more lanes
            **dict.fromkeys(("steps", "increment"), min(lanes.scan, lanes.words)),
            **dict.fromkeys(("bits", "scan", "compare", "offsets"), lanes.scan),
            **dict.fromkeys(("gather", "scan_counts", "collect_counts"), lanes.scan),
            **dict.fromkeys(("divide", "peel"), max(1, lanes.divide // self.rounds)),
            "divide_blocks": lanes.divide,
            **dict.fromkeys(("split", "multiply", "join"), max(1, lanes.multiply // self.rounds)),
        }
        return math.ceil(self._items(block) / lanes_by_kind.get(name, default_lanes))

    def _operations(self) -> dict[str, int]:
        """Return the operations of all blocks by name; blocks that decode in both passes count twice."""
        operations: dict[str, int] = {}
        for block in self.recipe.blocks:
            readings = 2 if self._is_read_twice() and self._is_decoder(block) else 1
            for name, number in self._block_operations(parse_kind(block), block).items():
                operations[name] = operations.get(name, 0) + readings * math.ceil(number)
        return operations

    def _block_operations(self, name: str, block: str) -> Mapping[str, float]:
        """Return the operations of a block by name.

        Args:
            name: kind of the block.
            block: name of the block.
        """
        lanes, items = self.parameters.lanes, self._items(block)
        adders = prefix_sum.adders(self.parameters.scan_form, lanes.scan)
        if name in ("scan", "scan_counts", "offsets"):
            # All adders work in each beat, even if lanes are empty; likewise all comparators of the network
            return {"add": adders * self._beats(block)}
        if name == "sort":
            levels = (lanes.chunk - 1).bit_length()
            return {"compare_exchange": lanes.chunk // 2 * levels * (levels + 1) // 2 * self._beats(block)}
        operations: Mapping[str, tuple[str, float]] = {
            "divide": ("divide", items),
            "divide_blocks": ("divide", 2 * items),
            "multiply": ("multiply", items),
            "compare": ("compare", items),
            "expand": ("compare", self._pointers(self.source, block)),
            "count": ("count", items),
            "tally": ("count", items),
            "scatter": ("scatter", items),
        }
        return dict([operations[name]]) if name in operations else {}


def _count_rows(items: float, lanes: int) -> int:
    """Return the number of rows of an array, the last of which contains a stop.

    If the items fill their rows, a further row has only stops.
    """
    return int(items // lanes) + 1


def _layout_spans(
    form: Format, shape: Sequence[int], nonzeros: float, bits: int, counts: Mapping[str, float] | None
) -> Layout:
    """Return the layout of a format's arrays, with expected counts where ``counts`` has none."""
    expected = form.expected_counts(shape, nonzeros / max(1, math.prod(shape)))
    return form.layout(shape, {**expected, "nonzeros": nonzeros, **(counts or {})}, bits)
