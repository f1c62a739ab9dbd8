"""Row-wise product of two matrices: each processing element computes one row of Z at a time.

The rows of A are distributed in turn over the processing elements. A processing element reads its rows of A
in order. For each element of a row, it reads the row of B that the element names, and multiplies. It adds up
the products of equal coordinates, and writes the row of Z.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from fiberscope.accelerators.composition import Composition, CompositionParameters, PartFactory, User, count
from fiberscope.accelerators.configuration import Bytes, Configuration
from fiberscope.accelerators.layout import Layout, RowPlaces
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.row_sampling import multiplies_rows
from fiberscope.hw.fibers.arithmetic import Multiplier
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.fibers.row_reader import RowReader
from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT, WRITE
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray

from .parts import RowSums

A, B, Z = range(3)  # numbers of the tensors: the upper bits of an address
SHARE = 1 << 31  # bytes of address space for the rows of A, and for the rows of Z, of a processing element


class ProcessingElements(Configuration):
    """Parameters of the section ``pe`` of ``config.yaml``, which documents their meaning and units."""

    count: int = Field(ge=1, le=256)
    latency: int = Field(ge=1, le=1000)
    queue: int = Field(ge=2, le=1024)
    line: Bytes = Field(ge=16, le=4096)
    lines: int = Field(ge=2, le=1 << 16)
    rows: int = Field(ge=1, le=1024)
    element: Bytes = Field(ge=1, le=16)


class RowWiseParameters(CompositionParameters):
    """All parameters of the machine."""

    pe: ProcessingElements


class RowWise(Composition[RowWiseParameters]):
    """A machine that computes A times B.

    Args:
        parameters: the configuration.
        a, b: the operands, CSR with sorted and distinct coordinates.
        parts, kernel: see ``Composition``.
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
        sizes = {"line_bytes": pe.line, "element_bytes": pe.element, "lines": pe.lines, "rows_ahead": pe.rows}
        starts = self.places.addresses.tolist()
        name, port = f"{self.names[i]}.reader", self._port(B, i)
        return self.add(RowReader, name, self.a, self.b, self.shares[i], port, starts=starts, **sizes)

    def _port(self, tensor: int, i: int) -> int:
        """Return the number of a memory port: the position of its component in ``_users``."""
        return tensor * self.parameters.pe.count + i

    def _add_pipeline(self, i: int) -> tuple[Component, Component]:
        """Add the multiplier and the sums of a processing element, and connect them to its reader."""
        pe, name, connect = self.parameters.pe, self.names[i], self.kernel.connect
        multiplier = self.add("multiplier", f"{name}.multiplier", self.a.values)
        sums = self.add("sums", f"{name}.sums", self.product, self.shares[i], pe.element)
        connect(self.readers[i], "elements", multiplier, "operands", capacity=pe.queue)
        connect(multiplier, "products", sums, "products", capacity=pe.latency + 2, latency=pe.latency)
        return multiplier, sums

    def _users(self) -> Iterator[User]:
        """Yield the users of memory in the order of their ports. Users without replies are last."""
        for i in range(len(self.names)):
            yield self._add_stream(i, READ, A, self.readers[i], "a"), "requests", "replies"
        yield from ((reader, "requests", "replies") for reader in self.readers)
        for i in range(len(self.names)):
            yield self._add_stream(i, WRITE, Z, self.sums[i], "z"), "requests", ""

    def _add_stream(self, i: int, operation: int, tensor: int, user: Component, port: str) -> MemoryStream:
        """Add the stream that moves the rows of A or Z of a processing element, in the order of use."""
        pe, connect = self.parameters.pe, self.kernel.connect
        sizes = {"line_bytes": pe.line, "lines": pe.lines, "most_jobs": pe.rows}
        place = operation, tensor, i * (SHARE + pe.line)
        name = f"{self.names[i]}.stream_{port}"
        stream = self.add(MemoryStream, name, *place, self._port(tensor, i), **sizes)
        connect(user, f"{port}_jobs", stream, "jobs", capacity=pe.rows)
        connect(stream, "done", user, f"{port}_done", capacity=pe.rows)
        self.streams.append((place, stream))
        return stream

    def result(self) -> CsrArray:
        """Return Z as the machine wrote it."""
        rows = [sorted(row.items()) for row in self.product]
        entries = np.reshape([entry for row in rows for entry in row], (-1, 2))
        pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return sparse.csr_array((entries[:, 1], entries[:, 0].astype(int), pointers), shape=self.shape)

    def operations(self) -> dict[str, int]:
        """Return the numbers of multiplications and of additions."""
        return {"multiply": count("multiply", *self.multipliers), "add": count("add", *self.sums)}

    def layouts(self) -> Sequence[Layout]:
        """Return the memory layout of the tensors: B row after row; A and Z by processing element."""
        named = np.unique(np.asarray(self.a.coordinates, np.intp))  # the rows of B that A names
        return [
            *self.places.layouts(named),
            *(Layout.stream(place, SHARE, stream.bytes) for place, stream in self.streams),
        ]

    def progress(self) -> tuple[int, int]:
        """Return the number of finished rows of Z, and the number of all rows."""
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
    sampler=multiplies_rows(RowWise, dealt=lambda parameters: parameters.pe.count),
)
