"""A machine of one's own: lanes of inner products, each with a buffer that holds B.

    fiberscope sim examples/inner_product/machine.py uniform:rows=60,cols=60,nonzeros=300

Each lane has a block of A's rows. It reads B, and then its rows one after the other: it intersects a row with
every column of B that is not empty, multiplies what meets, adds it up and writes the row of Z.
"""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from fiberscope.accelerators.composition import Composition, CompositionParameters, count
from fiberscope.accelerators.configuration import Bytes, Configuration, ConfigurationError
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.hw.fibers.arithmetic import Accumulator, PairMultiplier
from fiberscope.hw.fibers.memory_stream import DONE, JOB, MemoryStream
from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT, WRITE
from fiberscope.hw.fibers.scanner import LevelScanner
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim import Component, Input, Output
from fiberscope.sim.names import numbered

STREAMS = (("a", READ, 0), ("b", READ, 1), ("z", WRITE, 2))  # name, operation and number of the tensor
JOINS = {"two_finger": TwoFingerIntersector, "skip_ahead": SkipAheadIntersector}  # by lane.intersection
LANE_BYTES = 1 << 32  # of addresses: each lane's rows of A and Z lie by themselves


class Lane(Configuration):
    count: int = Field(ge=1, le=256)
    intersection: Literal["two_finger", "skip_ahead"]
    window: int = Field(ge=1, le=1024)
    queue: int = Field(ge=2, le=1024)
    latency: int = Field(ge=1, le=1000)
    buffer: Bytes = Field(ge=1)
    line: Bytes = Field(ge=16, le=4096)
    lines: int = Field(ge=1, le=1 << 16)
    rows: int = Field(ge=1, le=1024)
    element: Bytes = Field(ge=1, le=1024)


class InnerProductParameters(CompositionParameters):
    lane: Lane


class Control(Component):
    """Has B and rows of A read, names a row with every column of B, a pair a cycle, and keeps the sums."""

    PORTS = (
        *(Output(f"{name}_jobs", JOB) for name, *_ in STREAMS),
        *(Input(f"{name}_done", DONE) for name, *_ in STREAMS),
        *(Output("a", STREAM), Output("b", STREAM), Input("sums", STREAM)),
    )

    def __init__(self, name, machine, rows):
        super().__init__(name)
        self.machine, self.product = machine, machine.product
        self.rows, self.lengths = rows.tolist(), np.diff(machine.a.indptr)[rows].tolist()
        self.columns = np.flatnonzero(np.diff(machine.b.indptr)).tolist()
        self.asked = self.begun = self.finished = 0  # rows
        self.named = self.summed = 0  # columns, of the row under way

    def tick(self, now):
        if self._ask() | self._begin() | self._name() | self._keep() | self._finish() | self._retire():
            return self.busy(now + 1)
        if self.begun > self.finished:
            if self.named < len(self.columns):
                return self.wait_output(self.b if self.a.can_push() else self.a)
            return self.wait_output(self.z_jobs) if self.summed == self.named else self.wait_input(self.sums)
        if self.begun == self.asked:
            return self.idle()
        return self.wait_input(self.b_done if self.a_done.can_pop() else self.a_done)

    def _ask(self):
        if self.asked == len(self.rows) or not self.a_jobs.can_push():
            return False
        if self.asked == 0:
            self.b_jobs.push(0, self.machine.bytes(self.machine.b.nnz), 0, 0.0)
        self.a_jobs.push(0, self.machine.bytes(self.lengths[self.asked]), 0, 0.0)
        self.asked += 1
        return True

    def _begin(self):
        needed = (self.a_done,) if self.begun else (self.a_done, self.b_done)
        if self.begun > self.finished or not all(done.can_pop() for done in needed):
            return False
        for done in needed:
            done.pop()
        self.begun += 1
        self.named = self.summed = 0
        return True

    def _name(self):
        under_way = self.begun > self.finished and self.named < len(self.columns)
        if not (under_way and self.a.can_push() and self.b.can_push()):
            return False
        self.a.push(DATA, 0, self.rows[self.finished], 0.0)
        self.b.push(DATA, 0, self.columns[self.named], 0.0)
        self.named += 1
        return True

    def _keep(self):
        if not self.sums.can_pop():
            return False
        if self.sums.control() == DATA:
            self.product[self.rows[self.finished]][self.columns[self.summed]] = self.sums.value()
        else:
            self.summed += 1
        self.sums.pop()
        return True

    def _finish(self):
        if not (self.begun > self.finished and self.summed == len(self.columns) and self.z_jobs.can_push()):
            return False
        self.z_jobs.push(0, self.machine.bytes(len(self.product[self.rows[self.finished]])), 0, 0.0)
        self.finished += 1
        return True

    def _retire(self):
        if not self.z_done.can_pop():
            return False
        self.z_done.pop()
        return True


class InnerProduct(Composition[InnerProductParameters]):
    NAME = "inner_product"
    PARTS: ClassVar = {**Composition.PARTS, **JOINS, "multiplier": PairMultiplier, "accumulator": Accumulator}
    TENSORS: ClassVar = {name.upper(): (number,) for name, _operation, number in STREAMS}

    def __init__(self, parameters, a, b, *, parts=None, kernel=None):
        super().__init__(parameters, parts, kernel)
        self.a, self.b = a, b.tocsc()
        if self.bytes(b.nnz) > parameters.lane.buffer:
            raise ConfigurationError(f"lane.buffer should hold B, which has {self.bytes(b.nnz)} bytes")
        self.product: list[dict[int, float]] = [{} for _ in range(a.shape[0])]
        self.levels = {side: Level(of.indptr, of.indices, of.data) for side, of in (("a", a), ("b", self.b))}
        blocks = np.array_split(np.arange(a.shape[0]), parameters.lane.count)
        self.names = numbered("lane", parameters.lane.count)
        self.lanes = [self._add_lane(*lane) for lane in zip(self.names, blocks, strict=True)]
        self.streams: list[tuple[int, int, int, Component]] = []
        self.add_memory([user for one in STREAMS for user in self._add_streams(*one)], parameters.lane.line)
        self.build()

    def bytes(self, elements):
        return elements * self.parameters.lane.element

    def _add_lane(self, name, rows):
        lane, connect = self.parameters.lane, self.kernel.connect
        control = self.add(Control, f"{name}.control", self, rows)
        skips = lane.intersection == "skip_ahead"
        intersector = self.add(lane.intersection, f"{name}.intersector", *[lane.window][:skips])
        multiplier = self.add("multiplier", f"{name}.multiplier")
        accumulator = self.add("accumulator", f"{name}.accumulator")
        for side, level in self.levels.items():
            scanner = self.add(LevelScanner, f"{name}.scanner_{side}", level, lane.window)
            connect(control, side, scanner, "references", capacity=lane.queue)
            connect(scanner, "elements", intersector, side, capacity=lane.queue)
            connect(intersector, f"matches_{side}", multiplier, side, capacity=lane.queue)
            if skips:
                connect(intersector, f"skips_{side}", scanner, "skips", capacity=lane.queue)
        pipeline = {"capacity": lane.latency + 2, "latency": lane.latency}
        connect(multiplier, "products", accumulator, "products", **pipeline)
        connect(accumulator, "sums", control, "sums", **pipeline)
        return control, intersector, multiplier, accumulator

    def _add_streams(self, name, operation, tensor):
        """One kind of streams, one a lane: their ports at memory follow those of the kinds before."""
        lane, connect = self.parameters.lane, self.kernel.connect
        sizes = {"line_bytes": lane.line, "lines": lane.lines, "most_jobs": lane.rows}
        for i, (control, *_) in enumerate(self.lanes):
            place, port = (operation, tensor, 0 if name == "b" else i * LANE_BYTES), tensor * lane.count + i
            stream = self.add(MemoryStream, f"{self.names[i]}.stream_{name}", *place, port, **sizes)
            self.streams += [(*place, stream)] if name != "b" else []
            connect(control, f"{name}_jobs", stream, "jobs", capacity=lane.rows)
            connect(stream, "done", control, f"{name}_done", capacity=lane.rows)
            yield stream, "requests", "replies" if operation == READ else ""

    def result(self):
        entries = [(row, *entry) for row, entries in enumerate(self.product) for entry in entries.items()]
        rows, columns, values = np.reshape(entries, (-1, 3)).T
        shape = (self.a.shape[0], self.b.shape[1])
        return sparse.csr_array((values, (rows.astype(int), columns.astype(int))), shape=shape)

    def operations(self):
        names = {1: "intersect", 2: "multiply", 3: "add"}  # counters, by the places of a lane's parts
        return {name: count(name, *(lane[i] for lane in self.lanes)) for i, name in names.items()}

    def layouts(self):
        b = Layout.whole(1 << TENSOR_SHIFT, self.bytes(self.b.nnz), Role.OPERAND)
        return [b, *(Layout.stream(place, LANE_BYTES, stream.bytes) for *place, stream in self.streams)]

    def progress(self):
        return sum(lane[0].finished for lane in self.lanes), len(self.product)


ACCELERATOR = Accelerator(
    name=InnerProduct.NAME,
    summary="lanes of inner products, each with a buffer that holds B",
    configuration=InnerProductParameters,
    folder=Path(__file__).parent,
    models={EVENT: InnerProduct},
    workers="lane.intersector",
    channels="memory.channel",
    parts=InnerProduct.PARTS,
)
