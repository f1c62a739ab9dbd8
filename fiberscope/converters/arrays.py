"""Arrays in memory: the source's arrays as streams of items, and the target's arrays as routes for items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fiberscope.accelerators import layout as memory
from fiberscope.converters.lines import LINE_BITS, LINE_BYTES
from fiberscope.converters.reader import ItemStream, StreamField
from fiberscope.converters.recipes import family
from fiberscope.converters.writer import Region, Route, TargetArray
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.formats import Encoded, Field, Format, Rlc, index_bits
from fiberscope.workloads.formats.format import Layout

MASK_BITS = WORD_BITS = 32  # bits of a word; a mask is transferred in words
COPIED = "lines"  # stream and port of a copy, whose words are not interpreted
REGION_SHIFT = 34  # shift of the number of a target's array in an address
POINTER_BITS = 62  # bits of a whole word of a token (a signed 64-bit number), which an array gets unchanged
NO_ENDS = integers_of(np.zeros(0, np.int64))  # ``ends`` of an array whose items have one width


def compute_shifts(shape: Sequence[int]) -> list[int]:
    """Return the shift of each rank's coordinate in a word that has all of them; the last rank is lowest.

    Words are thus in the order of positions, row by row. The caller checks that all coordinates fit.
    """
    widths = [index_bits(size) for size in shape]
    return [sum(widths[rank + 1 :]) for rank in range(len(shape))]


class Source:
    """The source in memory, which provides the streams that recipes read.

    Args:
        encoded: encoded tensor to convert.
        lanes: items per cycle of a stream other than ``keys``.
        chunk: items per cycle of the stream ``keys``.
        max_lines: largest number of lines of each array that are in flight or wait.
        ranges: number of ranges of keys. The source is read again for each range.

    Attributes:
        layouts: layouts of the arrays in memory, which begin at address 0, each at a line.
        addresses: byte address by array; the entries of RLC have the address of ``runs``.
        items, widths: items of each array as 64-bit integers, and bits of an item in memory.
    """

    def __init__(self, encoded: Encoded, *, lanes: int, chunk: int, max_lines: int, ranges: int) -> None:
        self.encoded = encoded
        self.lanes, self.chunk, self.max_lines, self.ranges = lanes, chunk, max_lines, ranges
        self.shifts = compute_shifts(encoded.shape)
        self.addresses: dict[str, int] = {}
        self.layouts: list[memory.Layout] = []
        address = 0
        # RLC packs its two arrays as one: ``packed_bits`` has one number, and ``values`` gets no address
        for array, bits in zip(encoded.fields, encoded.format.packed_bits(encoded.layout), strict=False):
            self.addresses[array.name] = address
            self.layouts.append(memory.Layout.whole(address, -(-bits // 8), memory.Role.OPERAND))
            address += -(-bits // LINE_BITS) * LINE_BYTES
        self.items = {array.name: integers_of(array.items.astype(np.int64)) for array in encoded.fields}
        self.widths = {array.name: array.width for array in encoded.fields}

    def _field(self, name: str, shift: int = 0) -> StreamField:
        items = self.items[name]
        return StreamField(items, self.widths[name], NO_ENDS, shift, self.addresses[name], self.max_lines)

    def stream(self, name: str, *, twice: bool = False) -> ItemStream:
        """Return a stream of this source, which is read once or ``twice`` for each range of keys.

        Args:
            name: an array, such as ``values``; or a stream of several arrays or of words: ``items``,
                ``entries`` of RLC, ``level_<n>`` of CSF, ``pointers``, ``mask``, ``keys``, ``COPIED``.
            twice: whether each range needs two readings, for counting and for scattering.

        Raises:
            KeyError: the format of the source has no such array.
        """
        readings = (2 if twice else 1) * self.ranges
        if name == "keys":
            # Priority 0, before all other streams: no item can be scattered before all keys are counted
            return ItemStream([self._field(self._keys())], None, self.chunk, readings, 0)
        return ItemStream(*self._arrays(name), self.lanes, readings, 1)

    def _keys(self) -> str:
        """Return the array of sort keys: CSC is sorted by rows, all other formats by columns, into CSC."""
        return "row_ids" if self.encoded.format.name == "csc" else "col_ids"

    def _arrays(self, name: str) -> tuple[list[StreamField], StreamField | None]:
        """Return the arrays that form the words of a stream, and its array of values or None."""
        if name == COPIED:
            return [self._words(np.frombuffer(self.encoded.packed(), "<u4").astype(np.int64), 0)], None
        if name == "mask":
            return [self._mask()], None
        if name == "entries":
            return self._entries()
        if name.startswith("pointers"):
            return [self._field(self._pointers(name))], None
        if name.startswith("level"):
            return self._level(int(name.rpartition("_")[2]))
        # CSR and CSC have pointers in place of coordinates of one rank; ``expand`` adds this coordinate
        if name == "items":
            ids = {"csr": ["col_ids"], "csc": ["row_ids"]}.get(self.encoded.format.name)
            shifts = {"csr": self.shifts[1:], "csc": self.shifts[:1]}.get(self.encoded.format.name)
            names = ids or [array for array in self.items if array != "values"]
            return [*map(self._field, names, shifts or self.shifts)], self._field("values")
        if name == "values":
            return [], self._field("values")
        return [self._field(name)], None

    def _pointers(self, name: str) -> str:
        level = name.rpartition("_")[2]
        return {"csr": "row_ptr", "csc": "col_ptr"}.get(self.encoded.format.name, f"pos_{level}")

    def _level(self, level: int) -> tuple[list[StreamField], StreamField | None]:
        fields = [self._field(f"crd_{level}", self.shifts[level - 1])]
        return fields, self._field("values") if level == len(self.shifts) else None

    def _mask(self) -> StreamField:
        """Return the mask as words; the last word is padded with zeros."""
        bits = np.asarray(self.items["mask"], dtype=np.uint8)
        padded = np.zeros(-(-len(bits) // MASK_BITS) * MASK_BITS, np.uint8)
        padded[: len(bits)] = bits
        words = np.packbits(padded, bitorder="little").view("<u4").astype(np.int64)
        return self._words(words, self.addresses["mask"])

    def _words(self, words: Integers, address: int) -> StreamField:
        """Return an array of 32-bit words at an address."""
        return StreamField(integers_of(words), WORD_BITS, NO_ENDS, 0, address, self.max_lines)

    def _entries(self) -> tuple[list[StreamField], StreamField]:
        """Return runs and values, which are interleaved in one array; an entry without a value is shorter."""
        rlc, bits = self.encoded.format, self.encoded.bits
        assert isinstance(rlc, Rlc)
        runs = np.asarray(self.items["runs"])
        is_valueless = (runs == rlc.greatest_run) & (not rlc.continuation_has_value)
        values = np.zeros(len(runs), np.int64)
        values[~is_valueless] = np.asarray(self.items["values"])
        ends = np.cumsum(np.where(is_valueless, 0, bits) + rlc.run_bits)
        address = self.addresses["runs"]
        # The field of runs fetches the lines of both; the field of values (no width, no ends) fetches none
        entries = StreamField(integers_of(runs), 0, integers_of(ends), 0, address, self.max_lines)
        return [entries], StreamField(integers_of(values), 0, NO_ENDS, 0, address, self.max_lines)


@dataclass
class Target:
    """The target in memory, whose arrays are filled through the routes of a writer.

    Args:
        format: format of the target.
        shape: shape of the tensor.
        bits: bits of a value.
        layout: layout of the arrays, from the header of the target.

    Attributes:
        arrays: the arrays by name.
        regions: the regions of memory with these arrays; a region may hold several arrays.
    """

    format: Format
    shape: Sequence[int]
    bits: int
    layout: Layout
    arrays: dict[str, TargetArray] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Assign a region of memory to every array; the arrays of RLC share one region."""
        self.shifts = compute_shifts(self.shape)
        for index, span in enumerate(self.layout):
            if not (self.regions and isinstance(self.format, Rlc)):
                # The source is tensor 0, and the target is tensor 1
                self.regions.append(Region((1 << TENSOR_SHIFT) + (index << REGION_SHIFT)))
            width = MASK_BITS if span.name == "mask" else span.width
            self.arrays[span.name] = TargetArray(width, self.regions[-1])

    def routes(self, port: str) -> list[Route]:
        """Return the routes of a port of the writer; the reference of a token is an index in this list.

        For the port ``COPIED``, an array of words is added, which takes the place of all other arrays.
        """
        if port == "items":
            return self._items()
        if port == "masks":
            return [self._route(["mask"])]
        if port == "columns":
            return [self._route(["col_ids"])]
        if port.startswith("pointers"):
            level = port.rpartition("_")[2]
            names = ("row_ptr", "col_ptr", f"pos_{level}")
            return [self._route([span.name]) for span in self.layout if span.name in names]
        if port == COPIED:
            self.arrays[COPIED] = TargetArray(WORD_BITS, self.regions[0])
        return [self._route([port])]

    def _items(self) -> list[Route]:
        """Return the routes of items: for CSF by level from the root, for RLC with and without a value."""
        name = family(self.format.name)
        if name == "csf":
            last = len(self.shifts)
            return [self._route([f"crd_{level}"], values=level == last) for level in range(1, last + 1)]
        if name == "rlc":
            return [self._route(["runs"], values=True), self._route(["runs"])]
        ranks: Mapping[str, Iterable[int]] = {"csr": (1,), "csc": (0,), "coo": range(len(self.shifts))}
        # ``row_ids`` and ``col_ids`` of a matrix, ``ids...`` of a tensor
        ids = [span.name for span in self.layout if span.name.endswith("_ids") or span.name.startswith("ids")]
        return [self._route(ids if name in ranks else [], ranks.get(name, ()), values=True)]

    def _route(self, names: Sequence[str], ranks: Iterable[int] = (), *, values: bool = False) -> Route:
        """Return a route to arrays, each of which gets the coordinate of a rank or the whole word."""
        shifts = [self.shifts[rank] for rank in ranks] or [0] * len(names)
        widths = [index_bits(self.shape[rank]) for rank in ranks] or [POINTER_BITS] * len(names)
        arrays = [self.arrays[name] for name in names]
        return Route(arrays, shifts, widths, self.arrays["values"] if values else None)

    def layouts(self) -> list[memory.Layout]:
        """Return the layouts of the regions, with the bytes written so far as the used range."""
        return [
            memory.Layout(region.address, 1 << REGION_SHIFT, memory.Role.PRODUCT, [(0, -(-region.bits // 8))])
            for region in self.regions
        ]

    def encoded(self, counts: Mapping[str, int]) -> Encoded:
        """Return the encoded tensor that has been written; call this after the run.

        Args:
            counts: counts of the target, from its header.
        """
        if COPIED in self.arrays:
            return self._copied(counts)
        fields = [Field(span.name, span.width, self._written(span.name)) for span in self.layout]
        return Encoded(self.format, tuple(self.shape), self.bits, counts, tuple(fields))

    def _copied(self, counts: Mapping[str, int]) -> Encoded:
        # An even number of words, since formats pack their arrays in words of 64 bits
        words = np.asarray(self.arrays[COPIED].items()).astype("<u4").view("<u8")
        items = self.format.unpack(words, self.layout, counts)
        pairs = zip(self.layout, items, strict=True)
        fields = [Field(span.name, span.width, values) for span, values in pairs]
        return Encoded(self.format, tuple(self.shape), self.bits, counts, tuple(fields))

    def _written(self, name: str) -> np.ndarray:
        items = np.asarray(self.arrays[name].items(), dtype=np.int64)
        if name != "mask":
            return items
        # The items of a mask are its words; the padding of the last word is cut
        bits = np.unpackbits(items.astype("<u4").view(np.uint8), bitorder="little")
        return bits[: math.prod(self.shape)]


def count_words_on_chip(layout: Layout) -> float:
    """Return the words of arrays on the chip: one per item, but one per ``MASK_BITS`` bits of a mask."""
    return sum(math.ceil(span.length / MASK_BITS) if span.name == "mask" else span.length for span in layout)
