"""The machine SIGMA: controller, distributor, Flex-DPEs, accumulators, and memory.

One operand is *stationary* (held in the multipliers of the Flex-DPEs), and the other is *streamed* column by
column. A *pass* streams columns past one chunk of the stationary operand. ``packing`` defines chunks and
folds, and ``plan`` the sequence of passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.composition import Composition, PartFactory, User, count
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.layout import Layout
from fiberscope.accelerators.sigma.accumulators import Accumulators
from fiberscope.accelerators.sigma.configuration import SigmaConfiguration
from fiberscope.accelerators.sigma.controller import FETCHES, Controller
from fiberscope.accelerators.sigma.distributor import Distributor
from fiberscope.accelerators.sigma.flex_dpe import FlexDpe, PartialSums
from fiberscope.accelerators.sigma.plan import Plan
from fiberscope.accelerators.sigma.tables import Tables
from fiberscope.accelerators.sigma.units import CHANNELS, Collector, Multipliers
from fiberscope.accelerators.values import convert_values
from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.lanes.adder_network import AdderNetwork
from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.prefix_sum import PARALLEL, PrefixPopcount
from fiberscope.hw.lanes.rows import MAXIMUM_LANES
from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT, WRITE
from fiberscope.hw.networks import benes
from fiberscope.hw.networks.benes import BenesNetwork
from fiberscope.hw.value_type import DOUBLE, TYPES, ValueType
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.gemm import SlicedMatrix, slice_operand
from fiberscope.workloads.sparse import sparse

A, B, Z = range(3)
HALF_A_TENSOR = 1 << (TENSOR_SHIFT - 1)  # bytes of half a tensor's address space
# Units of the Flex-DPEs and scanners. They run if step is unit, or if a unit is replaced.
NETWORKS = ("adder_network", "benes")
SCANNERS = ("regor", "prefix_popcount")
COUNT_BITS = 32  # bits of a count of the stationary operand's nonzeros
TASKS = 8  # capacity for a network's tasks: two chunks before the distributor, two in it, the rest after it
MAX_SINGLE_COLUMNS = 1 << 12  # columns of all Flex-DPEs up to which columns are simulated individually


class Sigma(Composition[SigmaConfiguration]):
    """A SIGMA that multiplies A by B.

    The Flex-DPEs can be simulated as single components, or as networks, multipliers and adders (``step`` =
    ``unit``). Both take the same number of cycles.

    Args:
        parameters: configuration of the machine.
        a, b: the operands, in CSR or as ``SlicedMatrix``, which provides slices along K.
        parts: replacements of blocks in ``PARTS``, by the same names.
        kernel: kernel that runs the machine, for checks of the engine; a new kernel by default.
        chosen: numbers of the passes to simulate, as of ``Plan``; None for all passes.

    Raises:
        ConfigurationError: if a fold cannot be packed, if the parameters do not suit separate units, or if
            the type of values cannot represent a value.
    """

    NAME = "sigma"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "controller": Controller,
        "distributor": Distributor,
        "dpe": FlexDpe,
        "regor": Regor,
        "prefix_popcount": PrefixPopcount,
        "benes": BenesNetwork,
        "adder_network": AdderNetwork,
        "accumulators": Accumulators,
        "stream": MemoryStream,
    }
    TENSORS: ClassVar = {"A": (A,), "B": (B,), "Z": (Z,)}

    def __init__(
        self,
        parameters: SigmaConfiguration,
        a: SlicedMatrix | CsrArray,
        b: SlicedMatrix | CsrArray,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
        chosen: Sequence[int] | None = None,
    ) -> None:
        super().__init__(parameters, parts, kernel)
        self.value_type = TYPES[parameters.value.type]
        self.a, self.b = typed_operands(self.value_type, a, b)
        self.plan = Plan(*stationary_and_streamed(parameters, self.a, self.b), parameters, chosen)
        self.product = np.zeros((self.plan.rows, self.plan.columns), self.plan.kind)
        uses_networks, uses_scanners = (
            parameters.step == "unit" or not units.isdisjoint(parts or ())
            for units in map(frozenset, (NETWORKS, SCANNERS))
        )
        self.by_units = uses_networks or uses_scanners
        self._add_parts()
        self._connect_parts()
        if self.by_units:
            self.tables = self.add(Tables, "tables", self.plan)
            self.kernel.connect(self.controller, "chunks", self.tables, "chunks", capacity=2)
        if uses_scanners:
            self._add_scanners()
        (self._add_units if uses_networks else self._connect_sums)()
        self.streams: list[tuple[int, int, int, Component]] = []  # operation, tensor, address, unit
        if not self.plan.without_memory:
            self._add_streams()
        self.build()

    def at_once(self) -> bool:
        """Return whether all columns of a pass are simulated in one step.

        With ``step`` = ``auto``, this never happens if a waveform shows the columns.
        """
        if self.by_units:
            return False
        if self.parameters.step != "auto":
            return self.parameters.step == "chunk"
        return self._has_many_columns and self.kernel.tracer is None

    @property
    def _has_many_columns(self) -> bool:
        stationary = self.b if self.parameters.stationary == "B" else self.a
        return (
            self.plan.columns * (stationary.nonzeros // self.parameters.dpe.multipliers) > MAX_SINGLE_COLUMNS
        )

    def _add_parts(self) -> None:
        parameters, plan = self.parameters, self.plan
        self.controller = self.add(
            "controller",
            "controller",
            plan,
            max_passes=parameters.stream.passes,
            bits_per_cycle=parameters.controller.bits_per_cycle,
            counts_first_scan=parameters.controller.first_fold == "counted",
        )
        self.distributor = self.add(
            "distributor",
            "distributor",
            plan,
            line_cycles=parameters.line_cycles,
            flush=parameters.reduce.flush,
            double_buffer=parameters.load.double_buffer,
            at_once=self.at_once,
        )
        self.partial: list[PartialSums] = [{} for _ in range(parameters.dpe.count)]
        self.dpes = [
            self.add("dpe", name, number, plan, self.partial[number])
            for number, name in enumerate(self._names)
        ]
        self.accumulators = self.add("accumulators", "accumulators", plan, self.product, self.partial)

    @property
    def _names(self) -> list[str]:
        return numbered("dpe", self.parameters.dpe.count)

    def _connect_parts(self) -> None:
        connect = self.kernel.connect
        connect(self.controller, "ready", self.distributor, "ready", capacity=2)
        for i, dpe in enumerate(self.dpes):
            connect(self.distributor, f"lines[{i}]", dpe, "lines", capacity=2)
            connect(self.distributor, f"columns[{i}]", dpe, "columns", capacity=2)

    def _connect_sums(self) -> None:
        """Connect the Flex-DPEs to the accumulators, with the latency of networks and adders."""
        latency = self.parameters.sums_latency
        for i, dpe in enumerate(self.dpes):
            self.kernel.connect(
                dpe, "sums", self.accumulators, f"sums[{i}]", capacity=latency + 2, latency=latency
            )

    def _add_scanners(self) -> None:
        """Add the units that scan the bitmaps. A scan takes at most the cycles that its bits need."""
        plan, vectors = self.plan, self._vectors()
        connect, lanes = self.kernel.connect, vectors * plan.words
        regor = self.add("regor", "regor", vectors, plan.words, plan.word_bits)
        counts = self.add(
            "prefix_popcount", "prefix_popcount", PARALLEL, lanes, plan.word_bits, COUNT_BITS, 0
        )
        for lane in range(lanes):
            connect(self.controller, f"bitmaps[{lane}]", regor, f"bitmaps[{lane}]", capacity=2)
            connect(self.controller, f"words[{lane}]", counts, f"words[{lane}]", capacity=2)
            connect(regor, f"kept[{lane}]", self.tables, f"kept[{lane}]", capacity=2)
            connect(counts, f"counts[{lane}]", self.tables, f"counts[{lane}]", capacity=2)

    def _vectors(self) -> int:
        """Return the largest number of slices whose bits are scanned in one cycle.

        Raises:
            ConfigurationError: if the units cannot scan as many bits, or the first scan is not counted.
        """
        plan, controller = self.plan, self.parameters.controller
        if controller.first_fold != "counted":
            raise ConfigurationError(
                "controller.first_fold is hidden; with units that scan the bitmaps it should be counted, "
                "because these units scan within the run"
            )
        vectors, limit = -(-controller.bits_per_cycle // plan.narrowest), MAXIMUM_LANES // plan.words
        if vectors > limit:
            raise ConfigurationError(
                f"controller.bits_per_cycle is {controller.bits_per_cycle}; with units that scan the bitmaps "
                f"it should be at most {limit * plan.narrowest}: {limit} slices of {plan.narrowest} bits"
            )
        return vectors

    def _add_units(self) -> None:
        """Add networks, multipliers and adders of all Flex-DPEs as separate components.

        Raises:
            ConfigurationError: if the type of values or the latency outside the Flex-DPEs does not suit them.
        """
        if self.value_type.floats:
            raise ConfigurationError(
                f"value.type is {self.value_type.name}; Flex-DPEs made of units compute with doubles: auto "
                "or integer"
            )
        outside_cycles = self.parameters.reduce.levels_outside_dpe
        if outside_cycles <= CHANNELS:
            raise ConfigurationError(
                f"reduce.levels_outside_dpe is {outside_cycles}; with Flex-DPEs made of units it should be "
                f"at least {CHANNELS + 1}, because {CHANNELS} of these cycles are spent in the channels "
                "between units"
            )
        for number, name in enumerate(self._names):
            self._add_units_of(number, name, outside_cycles - CHANNELS)

    def _add_units_of(self, number: int, name: str, outside_cycles: int) -> None:
        """Add and connect the units of one Flex-DPE.

        Args:
            number: number of the Flex-DPE.
            name: name of the Flex-DPE within the machine.
            outside_cycles: cycles from the collector to the accumulators.
        """
        dpe, lanes, connect = self.dpes[number], self.parameters.dpe.multipliers, self.kernel.connect
        multipliers = self.add(Multipliers, f"{name}.multipliers", number, self.plan)
        adders = self.add("adder_network", f"{name}.adder_network", lanes)
        collector = self.add(Collector, f"{name}.collector", number, self.plan, self.partial[number])
        inside_cycles = self.parameters.sums_latency + CHANNELS - self.parameters.reduce.levels_outside_dpe
        connect(dpe, "sums", collector, "columns", capacity=inside_cycles + 2, latency=inside_cycles)
        connect(
            collector,
            "sums",
            self.accumulators,
            f"sums[{number}]",
            capacity=outside_cycles + 2,
            latency=outside_cycles,
        )
        self._add_network(number, name, multipliers)
        for lane in range(lanes):
            connect(multipliers, f"products[{lane}]", adders, f"leaves[{lane}]", capacity=2)
            connect(adders, f"sums[{lane}]", collector, f"lanes[{lane}]", capacity=2)

    def _add_network(self, number: int, name: str, multipliers: Component) -> None:
        """Add the distribution network of a Flex-DPE, or wires of the same latency if words are gathered."""
        dpe, lanes, connect = self.dpes[number], self.parameters.dpe.multipliers, self.kernel.connect
        stages = self.parameters.benes.stages
        if self.parameters.gathered:
            latency = stages + 3  # two channels, and the output register of a network
            for lane in range(lanes):
                ends = (dpe, f"words[{lane}]", multipliers, f"operands[{lane}]")
                connect(*ends, capacity=latency + 2, latency=latency)
            return
        network = self.add("benes", f"{name}.benes", benes.DOUBLE, lanes, stages)
        connect(self.tables, f"tasks[{number}]", network, "tasks", capacity=TASKS)
        for lane in range(lanes):
            setting = f"settings[{number * lanes + lane}]"
            connect(self.tables, setting, network, f"settings[{lane}]", capacity=TASKS)
            connect(dpe, f"words[{lane}]", network, f"inputs[{lane}]", capacity=2)
            connect(network, f"outputs[{lane}]", multipliers, f"operands[{lane}]", capacity=2)

    def _add_streams(self) -> None:
        """Add the streams between machine and memory, and the memory; streams that read come first."""
        stationary, streamed = (B, A) if self.parameters.stationary == "B" else (A, B)
        stream, passes = self.parameters.stream, self.parameters.stream.passes
        connect = self.kernel.connect
        users: list[User] = []
        for port, (name, tensor) in enumerate(
            zip((*FETCHES, "written"), (stationary, streamed, Z, Z), strict=True)
        ):
            operation = WRITE if name == "written" else READ
            start = HALF_A_TENSOR if operation == WRITE else 0
            sizes = {"line_bytes": stream.line, "lines": stream.lines, "most_jobs": passes}
            stream_unit = self.add("stream", f"stream.{name}", operation, tensor, start, port, **sizes)
            requester = self.accumulators if operation == WRITE else self.controller
            connect(requester, f"{name}_jobs", stream_unit, "jobs", capacity=passes)
            done = "written" if operation == WRITE else f"{name}_done"
            connect(stream_unit, "done", self.controller, done, capacity=passes)
            self.streams.append((operation, tensor, start, stream_unit))
            users.append((stream_unit, "requests", "replies" if operation == READ else ""))
        self.add_memory(users, stream.line)

    def result(self) -> npt.NDArray[np.floating[Any]]:
        """Return Z as a dense array, which shares its memory with the machine."""
        return self.product.T if self.parameters.stationary == "B" else self.product

    def operations(self) -> dict[str, int]:
        """Return the number of operations by name.

        ``useful_multiply`` counts products of two nonzeros. ``add`` counts additions within the Flex-DPEs (in
        their forwarding adder networks), ``add_outside`` between Flex-DPEs, and ``accumulate`` into Z.
        """
        return {
            "multiply": count("multiply", *self.dpes),
            "useful_multiply": count("useful_multiply", self.accumulators),
            "add": count("add", *self.dpes),
            "add_outside": count("add_outside", self.accumulators),
            "accumulate": count("accumulate", self.accumulators),
        }

    def layouts(self) -> Sequence[Layout]:
        """Return the layouts of the streams: operands, sums of Z that are read, sums that are written."""
        sizes = [count("bytes", stream) for *_start, stream in self.streams]
        if any(sizes):  # each sum is written once at the end, and once before each time that it is read
            sizes[3] = sizes[2] + self.plan.rows * self.plan.columns * self.parameters.value.sum_bytes
        starts = (start for *start, _stream in self.streams)
        return [Layout.stream(start, HALF_A_TENSOR, size) for start, size in zip(starts, sizes, strict=True)]

    def traffic(self) -> dict[str, Any]:
        """Return the bytes read and written by tensor; empty without memory."""
        return {} if self.plan.without_memory else super().traffic()

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of both bitmaps, the nonzeros, and all of Z, each once; 0 if no nonzeros meet."""
        if self.plan.is_empty:
            return 0
        value, operands = self.parameters.value, (self.a, self.b)
        packed = sum(
            -(-operand.shape[0] * operand.shape[1] // 8) + operand.nonzeros * value.bytes
            for operand in operands
        )
        return packed + self.plan.rows * self.plan.columns * value.sum_bytes

    def explained(self) -> str:
        """Return a sentence about the cycles of the distributor and the use of the multipliers."""
        parameters, distributor = self.parameters, self.distributor
        cycles = max(1, self.kernel.length(self.kernel.clocks[0]))
        cycles_by_cause = {
            "loading": count("lines_loaded", distributor) * parameters.line_cycles,
            "before folds": count("flushes", distributor) * parameters.reduce.flush,
            "sending columns": count("columns_sent", distributor),
        }
        shares = ", ".join(f"{cause} {spent / cycles:.0%}" for cause, spent in cycles_by_cause.items())
        utilization = self.operations()["multiply"] / (cycles * parameters.fold)
        return f"Of the cycles, {shares}; a multiplier multiplies in {utilization:.0%} of them."

    def progress(self) -> tuple[int, int]:
        """Return the number of finished slices of K, and of all slices."""
        return count("slices", self.accumulators), self.plan.slices


class _Transposed:
    """The transpose of a matrix, which provides slices like ``SlicedMatrix``."""

    def __init__(self, matrix: SlicedMatrix) -> None:
        self._matrix = matrix
        self.shape = (matrix.shape[1], matrix.shape[0])
        self.nonzeros, self.integers = matrix.nonzeros, matrix.integers

    def slice(self, first: int, end: int) -> CsrArray:
        """See ``SlicedMatrix``; the result is in CSR."""
        return self._matrix.slice(first, end).T.tocsr()


def stationary_and_streamed(
    parameters: SigmaConfiguration, a: SlicedMatrix, b: SlicedMatrix
) -> tuple[SlicedMatrix, SlicedMatrix]:
    """Return the stationary operand and the streamed operand; transposed if B is stationary."""
    return (_Transposed(b), _Transposed(a)) if parameters.stationary == "B" else (a, b)


def typed_operands(
    values: ValueType, a: SlicedMatrix | CsrArray, b: SlicedMatrix | CsrArray
) -> tuple[SlicedMatrix, SlicedMatrix]:
    """Return both operands with values of a type.

    If the type is not a double, whole operands are converted, and no longer generated slice by slice.

    Raises:
        ConfigurationError: if the type cannot represent a value.
    """
    a, b = _sliced(a, 1), _sliced(b, 0)
    if values is DOUBLE:
        return a, b
    matrices = convert_values(values, a.slice(0, a.shape[1]), b.slice(0, b.shape[0]), "value.type")
    return slice_operand(matrices[0], 1), slice_operand(matrices[1], 0)


def _sliced(operand: SlicedMatrix | CsrArray, axis: int) -> SlicedMatrix:
    return slice_operand(operand, axis) if isinstance(operand, sparse.csr_array) else operand
