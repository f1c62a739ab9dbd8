"""Graphicionado's modules that bring lines and apply what was reached, as courses of steps."""

from collections import deque

from graphicionado_parts import Part

from fiberscope.accelerators.graphicionado.protocols import APPLY, LINE
from fiberscope.hw.fibers.list_writer import LISTED
from fiberscope.hw.memory.atomic_update import TOUCHED
from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST, WRITE
from fiberscope.hw.memory.touched import COUNT, FOUND
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.component import Input, Output


class PlainLineReader(Part):
    """Lines in the order in which they are wanted; ``waiting`` has each with the line that it needs."""

    PORTS = (
        Input("wanted", LINE),
        Output("here", LINE),
        Output("requests", REQUEST),
        Input("replies", REPLY),
    )
    COUNTERS = ("lines", "served")

    def course(self):
        self.waiting: deque[tuple[int, int, int, int]] = deque()
        self.arrived: set[int] = set()  # lines, numbered as they are asked for from 1 on
        self.last = None
        while True:
            moved = self._serve()
            moved = self._receive() or moved
            yield self._take() or moved

    def _kept(self):
        """The first of the lines that are still needed."""
        if not self.waiting:
            return self.lines + 1
        control, _number, _wanted, line = self.waiting[0]
        return line + 1 if control == STOP else line

    def _serve(self):
        if not self.waiting or not self.here.can_push():
            return False
        control, number, wanted, line = self.waiting[0]
        if not all(before in self.arrived for before in range(1, line + 1)):
            return False
        self.here.push(control, number, wanted)
        self.served += control != STOP
        self.waiting.popleft()
        return True

    def _receive(self):
        if not self.replies.can_pop():
            return False
        slot, buffers = self.replies.coordinate(), self.parameters.prefetch.lines
        open_lines = [line for line in range(1, self.lines + 1) if line not in self.arrived]
        self.arrived.add(next(line for line in open_lines if (line - 1) % buffers == slot))
        self.replies.pop()
        return True

    def _take(self):
        prefetch = self.parameters.prefetch
        if not self.wanted.can_pop() or len(self.waiting) == prefetch.lines * max(2, prefetch.line // 8):
            return False
        line = self.wanted.coordinate()
        if self.wanted.control() == STOP:
            line = None
        elif line != self.last or self._kept() > self.lines:
            if self.lines + 1 - self._kept() == prefetch.lines or not self.requests.can_push():
                return False
            self.requests.push(READ, self.lines % prefetch.lines, self.base + line * prefetch.line)
            self.lines += 1
        self.last = line
        token = self.wanted.control(), self.wanted.coordinate(), self.wanted.reference()
        self.waiting.append((*token, self.lines))
        self.wanted.pop()
        return True


class PlainOrder(Part):
    """Which lines of properties are applied."""

    PORTS = (Input("applies", APPLY), Input("found", FOUND, optional=True), Output("wanted", LINE))
    COUNTERS = ("lines",)

    def course(self):
        while True:
            while not self.applies.can_pop():
                yield False
            everything = self.applies.control()
            self.applies.pop()
            yield from self._all() if everything else self._found()
            while not self.wanted.can_push():
                yield False
            self.wanted.push(STOP)
            if self.found is not None:
                self.found.pop()
            yield True

    @property
    def many(self):
        return self.parameters.prefetch.line // self.parameters.property.bytes

    def _own(self, vertex):
        """The stream's vertices before one."""
        return len(range(self.one.number, vertex, self.parameters.streams))

    def _all(self):
        slice_, bounds = self.machine.shared.slice, self.machine.bounds
        first, end = self._own(bounds[slice_]), self._own(bounds[slice_ + 1])
        for line in range(first // self.many, -(-end // self.many)):
            passed = self._pass_one()
            while not self.wanted.can_push():
                yield passed
                passed = self._pass_one()
            there = min(self.many, end - line * self.many)
            self._want(line, (1 << there) - 1)
            yield True
        while self._pass_one():
            yield True
        while self.found is not None and not self.found.can_pop():
            yield False
            while self._pass_one():
                yield True

    def _pass_one(self):
        if self.found is None or not self.found.can_pop() or self.found.control() == STOP:
            return False
        self.found.pop()
        return True

    def _want(self, line, mask):
        self.wanted.push(DATA, line, mask)
        self.lines += 1

    def _found(self):
        whole, line, mask = (1 << self.many) - 1, None, 0
        of_block = self.parameters.block.vertices // self.parameters.streams // self.many
        while True:
            while not self.found.can_pop():
                yield False
            stops, bit = self.found.control() == STOP, self.found.coordinate()
            if line is not None and (stops or bit // self.many != line):
                while not self.wanted.can_push():
                    yield False
                self._want(line, mask)
                line, mask = None, 0
                yield True
                continue
            if stops:
                return
            self.found.pop()
            yield True
            if self.machine.selects == "blocks":
                for wanted in range(bit * of_block, (bit + 1) * of_block):
                    while not self.wanted.can_push():
                        yield False
                    self._want(wanted, whole)
                    yield True
            else:
                line, mask = bit // self.many, mask | 1 << bit % self.many


class PlainApply(Part):
    """New properties, a vertex a cycle; those that changed leave one by one beside the next line."""

    PORTS = (Input("lines", LINE), Output("requests", REQUEST), Output("entries", LISTED))
    COUNTERS = ("applied", "changed", "lines_applied", "lines_written")

    def course(self):
        self.under_way, self.leaving = None, deque()
        while True:
            moved = self._list()
            moved = self._end_line() or moved
            moved = self._begin() or moved
            yield moved or (self.under_way is not None and self.now < self.under_way[2])

    def _list(self):
        if not self.leaving or not self.entries.can_push():
            return False
        vertex = self.leaving.popleft()
        self.entries.push(DATA, vertex)
        self.one.coming.append((vertex, self.one.properties[vertex]))
        return True

    def _begin(self):
        if self.under_way is not None or not self.lines.can_pop():
            return False
        if self.lines.control() == STOP:
            if self.leaving or not self.entries.can_push():
                return False
            self.entries.push(STOP)
        else:
            line, mask = self.lines.coordinate(), self.lines.reference()
            self.under_way = line, mask, self.now + mask.bit_count()
        self.lines.pop()
        return True

    def _end_line(self):
        if self.under_way is None or self.now < self.under_way[2] or self.leaving:
            return False
        if not self.requests.can_push():
            return False
        line, mask, _until = self.under_way
        many = self.parameters.prefetch.line // self.parameters.property.bytes
        vertices = [line * many + i for i in range(many) if mask >> i & 1]
        changed = [vertex for vertex in vertices if vertex < self.one.count and self._changes(vertex)]
        always = str(self.parameters.apply.write_all).lower()
        if always == "auto":
            always = "true" if self.parameters.design == "graphicionado" else "false"
        if changed or always == "true":
            self.requests.push(WRITE, 0, self.base + line * self.parameters.prefetch.line)
            self.lines_written += 1
        if not self.machine.all_active:
            self.leaving.extend(changed)
        self.applied += len(vertices)
        self.changed += len(changed)
        self.lines_applied += 1
        self.under_way = None
        return True

    def _changes(self, vertex):
        one, program = self.one, self.machine.program
        old, reduced = one.properties[vertex], one.temporary[vertex]
        one.temporary[vertex] = program.neutral
        ranked = (1.0 - 0.85 + 0.85 * reduced) / max(1, one.degrees[vertex])
        one.properties[vertex] = min(old, reduced) if program.apply == "min" else ranked
        return one.properties[vertex] != old


class PlainFirstTouches(Part):
    """How many destinations were reached."""

    PORTS = (Input("touched", TOUCHED), Output("ready", COUNT))
    COUNTERS = ("touches",)
    count = 0

    def step(self):
        if not self.touched.can_pop() or (self.touched.control() == STOP and not self.ready.can_push()):
            return False
        if self.touched.control() == STOP:
            self.ready.push(0, 0, self.count)
            self.count = 0
        else:
            self.count += 1
            self.touches += 1
        self.touched.pop()
        return True
