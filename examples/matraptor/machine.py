"""MatRaptor: row-wise product, rows of a processing element in a channel of memory each, sorting queues.

Srivastava, Jin, Liu, Albonesi, Zhang, "MatRaptor: A Sparse-Sparse Matrix Multiplication Accelerator Based on
Row-Wise Product", MICRO 2020. Row r of each matrix belongs to processing element r modulo their number, and
lies in that element's stripe of memory (C2SR). A stripe is one channel's, so that each element reads its rows
of A and writes its rows of Z there alone; for rows of B it goes to all.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from fiberscope.accelerators.composition import Composition, CompositionParameters, PartFactory, User, count
from fiberscope.accelerators.configuration import Bytes, Configuration, ConfigurationError
from fiberscope.accelerators.layout import Layout, RowPlaces
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.hw.fibers.arithmetic import Multiplier
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.fibers.row_reader import RowReader
from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT, WRITE
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray

from .parts import SortingQueues

A, B, Z = range(3)  # numbers of the tensors, the upper bits of an address


class ProcessingElements(Configuration):
    """The section ``pe``; ``config.yaml`` says what its parameters are."""

    count: int = Field(ge=1, le=256)
    latency: int = Field(ge=1, le=1000)
    queue: int = Field(ge=2, le=1024)
    line: Bytes = Field(ge=16, le=4096)
    lines: int = Field(ge=2, le=1 << 16)
    rows: int = Field(ge=1, le=1024)
    element: Bytes = Field(ge=1, le=16)


class Queues(Configuration):
    """The section ``queues``: the sorting queues of a processing element."""

    count: int = Field(ge=2, le=256)
    size: Bytes = Field(ge=16)


class MatRaptorParameters(CompositionParameters):
    """All parameters."""

    pe: ProcessingElements
    queues: Queues


class MatRaptor(Composition[MatRaptorParameters]):
    """The machine with its operands loaded; runs A times B.

    Args:
        parameters: the configuration.
        a, b: the operands, CSR with sorted and distinct coordinates.
        parts, kernel: as of ``Composition``.
    """

    NAME = "matraptor"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "multiplier": Multiplier,
        "queues": SortingQueues,
    }
    TENSORS: ClassVar = {"A": (A,), "B": (B,), "Z": (Z,)}

    def __init__(
        self,
        parameters: MatRaptorParameters,
        a: CsrArray,
        b: CsrArray,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(parameters, parts, kernel)
        self.shape = (int(a.shape[0]), int(b.shape[1]))
        self._check_stripes(a, b)
        self.a, self.b = (CompressedRows(one.indptr, one.indices, one.data) for one in (a, b))
        stripes = {"stripes": parameters.pe.count, "stripe_bytes": self.stripe}
        self.places = RowPlaces(B << TENSOR_SHIFT, np.diff(b.indptr), parameters.pe.element, **stripes)
        self.product = [(array("q"), array("d")) for _ in range(self.shape[0])]
        self.names = numbered("pe", parameters.pe.count)
        self.shares = [range(i, self.shape[0], parameters.pe.count) for i in range(parameters.pe.count)]
        self.streams: list[tuple[tuple[int, int, int], MemoryStream]] = []
        self.readers = [self._add_reader(i) for i in range(parameters.pe.count)]
        self.multipliers, self.queues = zip(*map(self._add_pipeline, range(parameters.pe.count)), strict=True)
        self.add_memory(list(self._users()), parameters.pe.line)
        self.build()

    @property
    def stripe(self) -> int:
        """Bytes of addresses of a stripe: what lies side by side in a channel."""
        return self.parameters.memory.interleave

    def _check_stripes(self, a: CsrArray, b: CsrArray) -> None:
        """Refuse stripes that lie over one another.

        Raises:
            ConfigurationError: those of a tensor are longer than its addresses, or one has no room for rows.
        """
        count, room = self.parameters.pe.count, self.stripe
        if count * room > 1 << TENSOR_SHIFT:
            raise ConfigurationError(
                f"memory.interleave is {room} bytes; it should be {(1 << TENSOR_SHIFT) // count} or less, as "
                f"{count} stripes of that size are a tensor's addresses"
            )
        made = np.concatenate([[0], np.cumsum(np.diff(b.indptr)[a.indices])])
        products = np.diff(made[a.indptr])  # of each row: Z has no more elements
        rows = (np.diff(a.indptr), np.diff(b.indptr), products)
        needed = max(int(one[i::count].sum()) for one in rows for i in range(count))
        if needed * self.parameters.pe.element > room:
            raise ConfigurationError(
                f"memory.interleave is {room} bytes; it should be {needed * self.parameters.pe.element} or "
                "more, as a processing element's rows lie in one stripe"
            )

    def _add_reader(self, i: int) -> RowReader:
        pe, starts = self.parameters.pe, self.places.addresses.tolist()
        sizes = {"line_bytes": pe.line, "element_bytes": pe.element, "lines": pe.lines, "rows_ahead": pe.rows}
        name, port = f"{self.names[i]}.reader", self._port(B, i)
        return self.add(RowReader, name, self.a, self.b, self.shares[i], port, starts=starts, **sizes)

    def _port(self, tensor: int, i: int) -> int:
        """The number of an element's port at memory: those of A come first, those of Z last."""
        return tensor * self.parameters.pe.count + i

    def _add_pipeline(self, i: int) -> tuple[Component, Component]:
        """Reader, multiplier and queues of an element, each behind the other."""
        pe, name, connect = self.parameters.pe, self.names[i], self.kernel.connect
        multiplier = self.add("multiplier", f"{name}.multiplier", self.a.values)
        entries = self.parameters.queues.size // pe.element
        sizes = {"queues": self.parameters.queues.count, "entries": entries, "element_bytes": pe.element}
        queues = self.add("queues", f"{name}.queues", self.product, self.shares[i], **sizes)
        connect(self.readers[i], "elements", multiplier, "operands", capacity=pe.queue)
        connect(multiplier, "products", queues, "products", capacity=pe.latency + 2, latency=pe.latency)
        return multiplier, queues

    def _users(self) -> Iterator[User]:
        """What asks memory, in the order of ports: those that take no replies come last."""
        for i in range(len(self.names)):
            yield self._add_stream(i, READ, A, self.readers[i], "a"), "requests", "replies"
        yield from ((reader, "requests", "replies") for reader in self.readers)
        for i in range(len(self.names)):
            yield self._add_stream(i, WRITE, Z, self.queues[i], "z"), "requests", ""

    def _add_stream(self, i: int, operation: int, tensor: int, user: Component, port: str) -> MemoryStream:
        """What moves an element's rows of A or of Z, one behind the other in its stripe."""
        pe, connect = self.parameters.pe, self.kernel.connect
        sizes = {"line_bytes": pe.line, "lines": pe.lines, "most_jobs": pe.rows}
        place = operation, tensor, i * self.stripe
        name = f"{self.names[i]}.stream_{port}"
        stream = self.add(MemoryStream, name, *place, self._port(tensor, i), **sizes)
        connect(user, f"{port}_jobs", stream, "jobs", capacity=pe.rows)
        connect(stream, "done", user, f"{port}_done", capacity=pe.rows)
        self.streams.append((place, stream))
        return stream

    def result(self) -> CsrArray:
        """Z as it was written."""
        coordinates, values = (np.concatenate(one) for one in zip(*self.product, strict=True))
        pointers = np.concatenate([[0], np.cumsum([len(row) for row, _values in self.product])])
        return sparse.csr_array((values, coordinates, pointers), shape=self.shape)

    def operations(self) -> dict[str, int]:
        """Multiplies, additions of products, elements that were merged, and those that were sorted.

        ``overflows`` are those for which a queue had no room.
        """
        names = ("add", "merged", "sorted", "overflows")
        multiplies = count("multiply", *self.multipliers)
        return {"multiply": multiplies} | {name: count(name, *self.queues) for name in names}

    def layouts(self) -> Sequence[Layout]:
        """A stripe of each tensor for each processing element; of B the rows that A names are read."""
        named = np.unique(np.asarray(self.a.coordinates, np.intp))
        streams = [Layout.stream(place, self.stripe, stream.bytes) for place, stream in self.streams]
        return [*self.places.layouts(named), *streams]

    def progress(self) -> tuple[int, int]:
        """Rows of Z done, and all."""
        return sum(one.finished for one in self.queues), self.shape[0]


ACCELERATOR = Accelerator(
    name=MatRaptor.NAME,
    summary="row-wise product, sorting queues, a channel of memory for each processing element (MICRO 2020)",
    configuration=MatRaptorParameters,
    folder=Path(__file__).parent,
    models={EVENT: MatRaptor},
    workers="pe.queues",
    channels="memory.channel",
    parts=MatRaptor.PARTS,
)
