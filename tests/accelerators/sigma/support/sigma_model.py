"""SIGMA again, plainly: what is done by sets of places, and when by recurrences over passes.

Nothing is left out. Memory and the streams to it are those of ``hw/``; all between them is one component that
knows of a pass, once its bytes are there, in which cycle everything that follows happens.
"""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from fiberscope.accelerators.composition import Composition
from fiberscope.accelerators.sigma import SigmaConfiguration
from fiberscope.hw.fibers.memory_stream import DONE, JOB, MemoryStream
from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT, WRITE
from fiberscope.sim.component import Component, Input, Output

FETCHES = ("held", "streamed", "partial")
NEVER = -1


@dataclass
class Work:
    """A chunk of the stationary operand: ``entries`` are row and k of its nonzeros, by line."""

    first: int  # coordinate of K with which its first slice begins
    width: int
    lines: dict[int, list[tuple[int, int]]]
    begins: list[int] = field(default_factory=list)  # slices, by their first coordinates
    bits: int = 0
    bitmap: int = 0  # of those, the stationary operand's

    @property
    def entries(self):
        return [entry for line in self.lines.values() for entry in line]

    def rows(self, of=None):
        return {m for m, _k in (self.entries if of is None else self.lines[of])}


@dataclass
class Step:
    """A pass: a block of columns of a chunk."""

    work: Work
    columns: int
    begins: bool
    fetched: tuple[int, int, int]
    written: int
    awaited_writes: int
    lines: int
    flush: bool


def by_rows(parameters):
    return parameters.pack.by == "rows"


def slice_width(parameters, a):
    return a.shape[1] if by_rows(parameters) else parameters.slice.k


def slices_of(parameters, a, b):
    """First coordinate and kept places of each slice that has any, in order."""
    filtered = parameters.pack.filter == "regor"
    filtered |= parameters.pack.filter == "auto" and parameters.memory.model != "none"
    for first in range(0, a.shape[1], slice_width(parameters, a)):
        inside = range(first, min(first + slice_width(parameters, a), a.shape[1]))
        kept = [
            (m, k)
            for m in range(a.shape[0])
            for k in inside
            if parameters.pack.zeros == "keep" or (a[m, k] and (not filtered or b[k].any()))
        ]
        if kept:
            yield first, len(inside), kept


def works_of(parameters, a, b):
    """The chunks, in order."""
    dpe = parameters.dpe
    whole_folds = parameters.input.words_per_cycle == 0 and not by_rows(parameters)
    fold = dpe.count * dpe.multipliers
    position, works = 0, []
    for first, width, entries in slices_of(parameters, a, b):
        place = {entry: (entry[0] * width + entry[1] - first) for entry in entries}
        if parameters.pack.slices == "one" or by_rows(parameters):
            position = -(-position // fold) * fold
        begun = 0  # bit of the slice's bitmap up to which it is scanned
        left = entries
        while left:
            start = position % (fold if whole_folds else dpe.multipliers)
            room = whole_rows(left, fold) if by_rows(parameters) else fold - start
            taken, left = left[:room], left[room:]
            if not (whole_folds and start):
                works.append(Work(first, width, {}))
            work = works[-1]
            for entry in taken:
                work.lines.setdefault(position // dpe.multipliers, []).append(entry)
                position += 1
            until = place[taken[-1]] + 1 if left else a.shape[0] * width
            work.bitmap += until - begun
            work.bits += until - begun + (0 if begun else width * b.shape[1])
            if not begun:
                work.begins.append(first)
            begun = until
            if by_rows(parameters):
                position = -(-position // fold) * fold
                work.width = len({k for _m, k in taken})
    return works


def whole_rows(entries, fold):
    """How many of the entries fill a fold by whole rows; all of it, if the first row is longer."""
    fitting = 0
    for _m, row in groupby(entries, key=lambda entry: entry[0]):
        size = len(list(row))
        if fitting + size > fold:
            break
        fitting += size
    return fitting or fold


def resident_of(parameters, a, b):
    """Columns of the product that stay in the accumulators."""
    if parameters.memory.model == "none":
        return b.shape[1]
    value, width = parameters.value, min(slice_width(parameters, a), a.shape[1])
    fold = parameters.dpe.count * parameters.dpe.multipliers
    room = parameters.sram.data - 2 * value.bytes * (width * b.shape[1] + fold)
    return min(b.shape[1], room // (a.shape[0] * value.sum_bytes))


def steps_of(parameters, a, b):
    """The passes, with what they fetch and write; a and b are dense, a stationary."""
    value, columns, resident = parameters.value, b.shape[1], resident_of(parameters, a, b)
    block = columns if parameters.memory.model == "none" else parameters.stream.columns
    blocks = [range(first, min(first + block, columns)) for first in range(0, columns, block)]
    works = works_of(parameters, a, b)
    last = {row: number for number, work in enumerate(works) for row in work.rows()}
    slice_k = slice_width(parameters, a)
    last_slice = (a.shape[1] - 1) // slice_k * slice_k
    in_last = {m for work in works for m, k in work.entries if k >= last_slice}
    seen, loaded, fold, bitmap, steps = set(), 0, 0, 0, []
    for number, work in enumerate(works):
        lines = [line for line in work.lines if line >= loaded]
        loaded = max([loaded, *(line + 1 for line in lines)])
        flush, fold = (loaded - 1) // parameters.dpe.count > fold, (loaded - 1) // parameters.dpe.count
        back = len(work.rows() & seen)
        seen |= work.rows()
        held = len(work.entries) * value.bytes + -(-(bitmap + work.bitmap) // 8) + bitmap // -8
        bitmap += work.bitmap
        done = sum(last[row] == number and row in in_last for row in work.rows())
        for inside in blocks:
            final = number == len(works) - 1 and inside.stop == columns
            spilled, staying = sum(n >= resident for n in inside), sum(n < resident for n in inside)
            elements = done * staying
            if final:
                elements += (a.shape[0] - len(in_last)) * resident
                elements += (a.shape[0] - len(seen)) * (columns - resident)
            streamed = sum(
                np.count_nonzero(b[first : first + slice_k, inside]) * value.bytes
                + -(-min(slice_k, a.shape[1] - first) * len(inside) // 8)
                for first in work.begins
            )
            steps.append(
                Step(
                    work,
                    len(inside),
                    begins=inside.start == 0,
                    fetched=(held * (inside.start == 0), streamed, back * spilled * value.sum_bytes),
                    written=(len(work.rows()) * spilled + elements) * value.sum_bytes,
                    awaited_writes=len(steps) - len(blocks) + 1 if back * spilled else 0,
                    lines=len(lines) * (inside.start == 0),
                    flush=flush and inside.start == 0,
                )
            )
    return steps


def operations_of(parameters, a, b):
    """What is multiplied and added, by the names of a report."""
    columns, seen, slice_k = b.shape[1], set(), slice_width(parameters, a)
    found = dict.fromkeys(("multiply", "add", "add_outside", "accumulate"), 0)
    for work in works_of(parameters, a, b):
        occupied = len(work.entries)
        # A virtual neuron is a row, in a line and in a slice: the network is set for one slice at a time.
        neurons = sum(len({(m, k // slice_k) for m, k in entries}) for entries in work.lines.values())
        found["multiply"] += columns * occupied
        found["add"] += columns * (occupied - neurons)
        found["add_outside"] += columns * (neurons - len(work.rows()))
        found["accumulate"] += columns * len(work.rows() & seen)
        seen |= work.rows()
    found["useful_multiply"] = int(((a != 0).astype(int) @ (b != 0).astype(int))[:].sum())
    return found


class PlainCore(Component):
    """All of SIGMA but its streams."""

    PORTS = (
        *(Output(f"{what}_jobs", JOB, optional=True) for what in (*FETCHES, "written")),
        *(Input(f"{what}_done", DONE, optional=True) for what in (*FETCHES, "written")),
    )

    def __init__(self, name, parameters, steps):
        super().__init__(name)
        self.parameters, self.steps = parameters, steps
        self.with_memory = parameters.memory.model != "none"
        self.fetched = self.scanned = self.retired = 0  # passes
        self.scan_ends = NEVER
        self.taken, self.over = [], []  # by pass: the cycle in which it is taken, and in which it is over
        self.loading_until = self.end = 0
        self.served = 0  # cycle in which the accumulators can take another column, seen from the distributor
        self.writes = {}  # bytes by the cycle in which they are asked for
        self.bits = 0

    def tick(self, now):
        moved = self.with_memory and self._retire()
        moved |= self._fetch()
        self._scan(now)
        if now in self.writes and self.with_memory:
            self.written_jobs.push(0, self.writes[now])
        done = len(self.taken) == len(self.steps) and now >= self.end
        return self.idle() if done and not moved else self.busy(now + 1)

    def _retire(self):
        if not self.written_done.can_pop():
            return False
        self.written_done.pop()
        self.retired += 1
        return True

    def _fetch(self):
        most, under_way = self.parameters.stream.passes, self.fetched - self.retired
        if self.fetched == len(self.steps) or self.fetched - self.scanned == most:
            return False
        coming = self.steps[self.fetched]
        if self.with_memory:
            if under_way == most or self.retired < coming.awaited_writes:
                return False
            for what, size in zip(FETCHES, coming.fetched, strict=True):
                getattr(self, f"{what}_jobs").push(0, size)
        self.fetched += 1
        return True

    def _scan(self, now):
        """Hand a pass on when its bitmaps are scanned, and begin with the next, whose bytes are here."""
        self._hand_on(now)
        dones = [getattr(self, f"{what}_done") for what in FETCHES if self.with_memory]
        if self.scan_ends == NEVER and self.fetched > self.scanned and all(one.can_pop() for one in dones):
            for one in dones:
                one.pop()
            step = self.steps[self.scanned]
            hidden = self.scanned == 0 and self.parameters.controller.first_fold == "hidden"
            bits = step.work.bits * step.begins
            self.bits += bits
            self.scan_ends = now + (0 if hidden else -(-bits // self.parameters.controller.bits_per_cycle))
            self.scanned += 1
            self._hand_on(now)

    def _hand_on(self, now):
        has_room = len(self.taken) < 2 or now > self.taken[-2]  # for two between controller and distributor
        if self.scan_ends != NEVER and now >= self.scan_ends and has_room:
            self.scan_ends = NEVER
            self._distribute(self.steps[len(self.taken)], now + 1)

    def _distribute(self, step, here):
        """What happens to a pass that is handed to the distributor, which holds two."""
        parameters, before = self.parameters, [0, 0, *self.over]
        take = max([here, before[-2], *self.taken[-1:]])
        opened = max(take, before[-1]) + step.flush * parameters.reduce.flush
        load = max(take if parameters.load.double_buffer else opened, self.loading_until)
        line = -(-parameters.dpe.multipliers // parameters.load.words_per_cycle)
        if step.lines:
            self.loading_until = load + step.lines * line
            opened = max(opened, self.loading_until)
        sending, serving, interval = self._pace(step.work)
        last = max(opened, self.served - (sending - 1)) + (step.columns - 1) * interval
        self.served = last + sending - 1 + serving
        self.taken.append(take)
        self.over.append(last + interval)
        come = last + sending - 1 + self._latency()
        assert come not in self.writes
        self.writes[come] = step.written
        self.end = max(self.end, self.over[-1], come + serving)

    def _latency(self):
        """From the column's last word at the distributor's port to its sums at the accumulators' port."""
        parameters = self.parameters
        levels = parameters.dpe.multipliers.bit_length() - 1 + parameters.reduce.levels_outside_dpe
        network, multiplier, wire = 1 + parameters.benes.stages, 1, 1
        return wire + network + multiplier + levels

    def _pace(self, work):
        """Cycles of a column at the input, at the accumulators, and to the next one."""
        parameters, value, sums = self.parameters, self.parameters.value, len(work.rows())
        words, output = parameters.input.words_per_cycle, parameters.output.words_per_cycle
        sending = -(-work.width // words) if words else 1
        serving = -(-sums // output) if output else 1
        moved = work.width * value.bytes if words else 0  # values are read
        if output:
            moved += sums * value.sum_bytes + sums * value.sum_bytes  # and sums, and written again
        return (
            sending,
            serving,
            max(sending, serving, -(-moved * parameters.clock // parameters.sram.bandwidth)),
        )


class PlainSigma(Composition[SigmaConfiguration]):
    """A machine of that core, and of streams and memory as any has them."""

    NAME = "plain"
    TENSORS: ClassVar = {"A": (0,), "B": (1,), "Z": (2,)}

    def __init__(self, parameters: SigmaConfiguration, a: Any, b: Any) -> None:
        super().__init__(parameters, None, None)
        turned = parameters.stationary == "B"
        self.held, self.streamed = (b.T, a.T) if turned else (a, b)
        self.steps = steps_of(parameters, self.held, self.streamed)
        self.core = self.kernel.add(PlainCore("plain.core", parameters, self.steps))
        if parameters.memory.model != "none":
            self._add_streams((1, 0) if turned else (0, 1))
        self.build()

    def _add_streams(self, operands: tuple[int, int]) -> None:
        stream, users = self.parameters.stream, []
        for port, (name, tensor) in enumerate(zip((*FETCHES, "written"), (*operands, 2, 2), strict=True)):
            writes = name == "written"
            made = self.kernel.add(
                MemoryStream(
                    f"plain.{name}",
                    WRITE if writes else READ,
                    tensor,
                    writes << (TENSOR_SHIFT - 1),
                    port,
                    line_bytes=stream.line,
                    lines=stream.lines,
                    most_jobs=stream.passes,
                )
            )
            self.kernel.connect(self.core, f"{name}_jobs", made, "jobs", capacity=stream.passes)
            self.kernel.connect(made, "done", self.core, f"{name}_done", capacity=stream.passes)
            users.append((made, "requests", "" if writes else "replies"))
        self.add_memory(users, stream.line)

    def operations(self) -> dict[str, int]:
        """Those of the plain model."""
        return operations_of(self.parameters, self.held, self.streamed)
