"""A machine of one's own: row-wise product, a row of A at a time in each processing element.

Each processing element has every so many-th row of A. It reads them in order, and for each of their elements
the row of B that it names; multiplies, adds up by coordinate, and writes the row of Z.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from fiberscope.accelerators.composition import (
    Composition,
    CompositionParameters,
    PartFactory,
    User,
    count,
)
from fiberscope.accelerators.configuration import Bytes, Configuration
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

from .parts import RowSums

A, B, Z = range(3)  # numbers of the tensors, the upper bits of an address
SHARE = 1 << 32  # bytes: a processing element has a range of addresses for its rows of A, and one for Z


class ProcessingElements(Configuration):
    """The section ``pe``; ``config.yaml`` says what its parameters are."""

    count: int = Field(ge=1, le=256)
    latency: int = Field(ge=1, le=1000)
    queue: int = Field(ge=2, le=1024)
    line: Bytes = Field(ge=16, le=4096)
    lines: int = Field(ge=2, le=1 << 16)
    rows: int = Field(ge=1, le=1024)
    element: Bytes = Field(ge=1, le=16)


class RowWiseParameters(CompositionParameters):
    """All parameters."""

    pe: ProcessingElements


class RowWise(Composition[RowWiseParameters]):
    """The machine with its operands loaded; runs A times B.

    Args:
        parameters: the configuration.
        a, b: the operands, CSR with sorted and distinct coordinates.
        parts, kernel: as of ``Composition``.
    """

    NAME = "row_wise"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "multiplier": Multiplier,
        "sums": RowSums,
    }
    TENSORS: ClassVar = {"A": (A,), "B": (B,), "Z": (Z,)}

    def __init__(
        self,
        parameters: RowWiseParameters,
        a: CsrArray,
        b: CsrArray,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(parameters, parts, kernel)
        self.shape = (int(a.shape[0]), int(b.shape[1]))
        self.a, self.b = (CompressedRows(operand.indptr, operand.indices, operand.data) for operand in (a, b))
        # The addresses of the rows of B, computed from their lengths before the run
        self.places = RowPlaces(B << TENSOR_SHIFT, np.diff(b.indptr), parameters.pe.element)
        self.product: list[dict[int, float]] = [{} for _ in range(self.shape[0])]
        self.names = numbered("pe", parameters.pe.count)
        # For each processing element, its rows of A, which are also its rows of Z
        self.shares = [range(i, self.shape[0], parameters.pe.count) for i in range(parameters.pe.count)]
        # Each stream, with its operation, its tensor and the first byte of its range
        self.streams: list[tuple[tuple[int, int, int], MemoryStream]] = []
        self.readers = [self._add_reader(i) for i in range(parameters.pe.count)]
        # A pipeline is a pair: zip makes a tuple of multipliers and a tuple of sums
        self.multipliers, self.sums = zip(*map(self._add_pipeline, range(parameters.pe.count)), strict=True)
        self.add_memory(list(self._users()), parameters.pe.line)
        self.build()

    def _add_reader(self, i: int) -> RowReader:
        pe = self.parameters.pe
        sizes = {"line_bytes": pe.line, "element_bytes": pe.element, "lines": pe.lines}
        starts = self.places.addresses.tolist()
        name, port = f"{self.names[i]}.reader", self._port(B, i)
        return self.add(RowReader, name, self.a, self.b, self.shares[i], port, starts=starts, **sizes)

    def _port(self, tensor: int, i: int) -> int:
        """The number of an element's port at memory: those of A come first, those of Z last."""
        return tensor * self.parameters.pe.count + i

    def _add_pipeline(self, i: int) -> tuple[Component, Component]:
        """Reader, multiplier and sums of an element, each behind the other."""
        pe, name, connect = self.parameters.pe, self.names[i], self.kernel.connect
        multiplier = self.add("multiplier", f"{name}.multiplier", self.a.values)
        sums = self.add("sums", f"{name}.sums", self.product, self.shares[i], pe.element)
        connect(self.readers[i], "elements", multiplier, "operands", capacity=pe.queue)
        connect(multiplier, "products", sums, "products", capacity=pe.latency + 2, latency=pe.latency)
        return multiplier, sums

    def _users(self) -> Iterator[User]:
        """Yield the users of memory in the order of ports: users without replies come last."""
        for i in range(len(self.names)):
            yield self._add_stream(i, READ, A, self.readers[i], "a"), "requests", "replies"
        yield from ((reader, "requests", "replies") for reader in self.readers)
        for i in range(len(self.names)):
            yield self._add_stream(i, WRITE, Z, self.sums[i], "z"), "requests", ""

    def _add_stream(self, i: int, operation: int, tensor: int, user: Component, port: str) -> MemoryStream:
        """Add the stream that moves an element's rows of A or of Z, in the order of their use."""
        pe, connect = self.parameters.pe, self.kernel.connect
        sizes = {"line_bytes": pe.line, "lines": pe.lines, "most_jobs": pe.rows}
        place = operation, tensor, i * SHARE
        name = f"{self.names[i]}.stream_{port}"
        stream = self.add(MemoryStream, name, *place, self._port(tensor, i), **sizes)
        connect(user, f"{port}_jobs", stream, "jobs", capacity=pe.rows)
        connect(stream, "done", user, f"{port}_done", capacity=pe.rows)
        self.streams.append((place, stream))
        return stream

    def result(self) -> CsrArray:
        """Z as it was written."""
        rows = [sorted(row.items()) for row in self.product]
        entries = np.reshape([entry for row in rows for entry in row], (-1, 2))
        pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return sparse.csr_array((entries[:, 1], entries[:, 0].astype(int), pointers), shape=self.shape)

    def operations(self) -> dict[str, int]:
        """Multiplies, and additions of products."""
        return {"multiply": count("multiply", *self.multipliers), "add": count("add", *self.sums)}

    def layouts(self) -> Sequence[Layout]:
        """B row behind row, of which those that A names are read; A and Z by processing element."""
        named = np.unique(np.asarray(self.a.coordinates, np.intp))  # the rows of B that A names
        return [
            *self.places.layouts(named),
            *(Layout.stream(place, SHARE, stream.bytes) for place, stream in self.streams),
        ]

    def progress(self) -> tuple[int, int]:
        """Rows of Z done, and all."""
        return sum(sum_unit.finished for sum_unit in self.sums), self.shape[0]


ACCELERATOR = Accelerator(
    name=RowWise.NAME,
    summary="row-wise product, a row of A at a time in each processing element",
    configuration=RowWiseParameters,
    folder=Path(__file__).parent,
    models={EVENT: RowWise},
    workers="pe.multiplier",
    channels="memory.channel",
    parts=RowWise.PARTS,
)
