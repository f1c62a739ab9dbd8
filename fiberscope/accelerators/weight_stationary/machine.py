"""The weight-stationary array: a bus, the processing elements that it feeds, and the output buffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.composition import PartFactory, count
from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.accelerators.weight_stationary.beats import Beat, beats
from fiberscope.accelerators.weight_stationary.bus import Bus
from fiberscope.accelerators.weight_stationary.configuration import WeightStationaryConfiguration
from fiberscope.accelerators.weight_stationary.output_buffer import OutputBuffer
from fiberscope.accelerators.weight_stationary.passes import Pass, passes
from fiberscope.accelerators.weight_stationary.pe import ProcessingElement
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.sparse import sparse

WORD = 4  # bytes of a value or an id


class WeightStationary:
    """A weight-stationary array that multiplies A by B, with both operands in the global buffer.

    Source: MINT (IPDPS 2021), Section IV.

    Args:
        parameters: configuration of the machine.
        a, b: the operands, as canonical CSR.
        parts: replacements of blocks in ``PARTS``, by the same names.
        kernel: kernel that runs the machine, for checks of the engine; a new kernel by default.
    """

    NAME = "weight_stationary"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        "bus": Bus,
        "pe": ProcessingElement,
        "output_buffer": OutputBuffer,
    }
    work = "multiply"

    def __init__(
        self,
        parameters: WeightStationaryConfiguration,
        a: CsrArray,
        b: CsrArray,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.parameters = parameters
        self.parts = {**self.PARTS, **(parts or {})}
        self.a, self.b = a, b
        self.kernel = kernel or Kernel()
        self.kernel.clock("core", parameters.clock)
        self.passes = list(passes(b, parameters))
        self.product: list[dict[int, float]] = [{} for _ in range(a.shape[0])]
        self._add_parts()
        self.kernel.build()

    def _add_parts(self) -> None:
        # The bus appends beats to ``stream``, and a token has only the index of its beat in this list
        parameters, stream = self.parameters, list[Beat]()
        words = parameters.bus.words if parameters.bus.load == "counted" else 0  # 0: no time to load B
        self.bus = self._add("bus", "bus", self.passes, self._beats, stream, words)
        self.output_buffer = self._add("output_buffer", "output_buffer", self.product)
        # PEs that would never hold a column are left out, all but one
        pe_count = min(parameters.pe.count, max(1, self.b.shape[1]))
        held_columns = [self._held_columns(pass_) for pass_ in self.passes]
        # The output channel of a PE has slots for two beats' sums besides those in flight
        latency, capacity = parameters.pe.latency, parameters.pe.latency + 2 * parameters.bus.words
        self.pes = []
        for number, name in enumerate(numbered("pe", pe_count)):
            # In passes over the last columns of B, a PE may be beyond the last column: it holds no values
            columns = [pass_.first + number for pass_ in self.passes]
            values = [by_pe.get(number, {}) for by_pe in held_columns]
            pe = self._add("pe", name, parameters, columns, values, stream)
            self.kernel.connect(self.bus, f"beats[{number}]", pe, "beats", capacity=parameters.pe.queue)
            ends = pe, "sums", self.output_buffer, f"sums[{number}]"
            self.kernel.connect(*ends, capacity=capacity, latency=latency)
            self.pes.append(pe)

    def _add(self, part: str, name: str, *arguments: object) -> Component:
        return self.kernel.add(self.parts[part](f"{self.NAME}.{name}", *arguments))

    def _held_columns(self, pass_: Pass) -> dict[int, dict[int, float]]:
        """Return the column of B of each PE in a pass, as values by coordinate in the slice of K."""
        block = sparse.coo_array(self.b[pass_.low : pass_.high, pass_.first : pass_.last])
        held_columns: dict[int, dict[int, float]] = {}
        for row, column, value in zip(
            block.row.tolist(), block.col.tolist(), block.data.tolist(), strict=True
        ):
            held_columns.setdefault(column, {})[row] = value
        return held_columns

    def _beats(self, pass_: Pass) -> Iterator[Beat]:
        return beats(self.parameters.acf.a, _slice(self.a, pass_), self.parameters.bus.words)

    def result(self) -> CsrArray:
        """Return the product, with an entry wherever two nonzeros were multiplied."""
        entries = [
            (row, *entry)
            for row, entries_of_row in enumerate(self.product)
            for entry in entries_of_row.items()
        ]
        # A float64 holds row and column numbers exactly up to 2**53; ``reshape`` is for an empty product
        rows, columns, values = np.reshape(np.array(entries, np.float64), (-1, 3)).T
        shape = (self.a.shape[0], self.b.shape[1])
        return sparse.csr_array((values, (rows.astype(np.int64), columns.astype(np.int64))), shape=shape)

    def operations(self) -> dict[str, int]:
        """Return the numbers of multiplications, additions in PEs and output buffer, and id lookups."""
        return {
            "multiply": count("multiply", *self.pes),
            "add": count("add", *self.pes),
            "accumulate": count("add", self.output_buffer),
            "search": count("searched", *self.pes),
        }

    def traffic(self) -> dict[str, Traffic]:
        """Return no traffic, since operands and product are in the global buffer."""
        return {}

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of a value and an id for each nonzero of the operands and entry of the product.

        The product has the entries computed so far; the number is final after the run.
        """
        product = sum(len(row) for row in self.product)
        return 2 * WORD * (int(self.a.nnz) + int(self.b.nnz) + product)

    def memory(self) -> MemoryUse | None:
        """Return None, since the machine has no memory."""
        return None

    def progress(self) -> tuple[int, int]:
        """Return the number of finished passes and of all passes."""
        return count("passes", self.bus), len(self.passes)

    def explained(self) -> str:
        """Return a sentence on the occupancy of the bus."""
        cycles = max(1, self.kernel.length(self.kernel.clocks[0]))
        streamed, loading = (count(name, self.bus) for name in ("streamed", "loading"))
        return f"The bus brought A in {streamed / cycles:.0%} of the cycles and B in {loading / cycles:.0%}."


def _slice(a: CsrArray, pass_: Pass) -> CsrArray:
    """Return the part of A that a pass streams."""
    # Without a cut of K, no copy is made
    return (
        a if pass_.low == 0 and pass_.high == a.shape[1] else sparse.csr_array(a[:, pass_.low : pass_.high])
    )
