"""Graphicionado's own modules, each as the course of its steps: what one cycle does ends in a ``yield``."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from fiberscope.accelerators.graphicionado.protocols import APPLY, EDGE, LINE, SOURCES
from fiberscope.hw.fibers.list_writer import LIST_END
from fiberscope.hw.memory.atomic_update import UPDATE
from fiberscope.hw.memory.prefetch_protocol import OPEN, STREAM_ELEMENT, STREAM_JOB, STREAM_STOP
from fiberscope.hw.memory.touched import COUNT, SCAN
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.component import Component, Input, Output


class Part(Component):
    """A module whose ``course`` gives in each cycle whether anything was done; of a machine and a stream."""

    def __init__(self, name: str, machine: Any, one: Any = None, **options: Any) -> None:
        super().__init__(name)
        self.machine, self.one = machine, one
        self.parameters = machine.parameters
        for key in self.COUNTERS:
            setattr(self, key, 0)
        for key, value in options.items():
            setattr(self, key, value)
        self.now = 0
        self._course = self.course()

    def tick(self, now: int) -> int:
        """The next step."""
        self.now = now
        return self.busy(now + 1) if next(self._course) else self.idle()

    def course(self) -> Iterator[bool]:
        """By default one step over and over."""
        while True:
            yield self.step()


class PlainControl(Part):
    """Slices, iterations, barrier."""

    PORTS = (
        Output("jobs", STREAM_JOB, array=True),
        Input("ready", COUNT, array=True),
        Output("scans", SCAN, array=True, optional=True),
        Output("applies", APPLY, array=True),
        Input("ends", LIST_END, array=True),
    )
    COUNTERS = ("iterations", "activations", "updates")

    def course(self):
        machine, self.records = self.machine, []
        active = self._active()
        slices = range(len(machine.bounds) - 1)
        while True:
            began, reached = self.now, 0
            self.activations += active
            for machine.shared.slice in slices:
                self._begin()
                yield True
                while not all(one.can_pop() for one in self.ready):
                    yield False
                touched = sum(one.reference() for one in self.ready)
                self._apply(touched)
                applied, reached = self.now, reached + touched
                yield True
                while not all(one.can_pop() for one in self.ends):
                    yield False
                for one in self.ends:
                    one.pop()
                if machine.shared.slice == slices[-1]:
                    self.records.append((active, reached, began, applied, self.now))
                    self._swap()
                yield True
            self.updates += reached
            self.iterations += 1
            active = self._active()
            if active == 0 or self.iterations == machine.task.iterations:
                break
        while True:
            yield False

    def _active(self):
        return sum(
            one.count if self.machine.all_active else len(one.frontier) for one in self.machine.streams
        )

    def _begin(self):
        for one, jobs in zip(self.machine.streams, self.jobs, strict=True):
            if self.machine.shared.slice == 0:
                one.sent = list(one.properties)
            jobs.push(
                0, 0, -(-one.count // self.machine.group) if self.machine.all_active else len(one.frontier)
            )

    def _apply(self, touched):
        for one in self.ready:
            one.pop()
        for one in self.scans:
            one.push(0)
        vertices = self.parameters.prefetch.line // self.parameters.property.bytes
        lines = self.machine.count // vertices // (len(self.machine.bounds) - 1)
        streaming = self.parameters.apply.auto and touched > lines
        for one in self.applies:
            one.push(int(self.machine.selects == "all" or streaming))

    def _swap(self):
        for one in self.machine.streams:
            one.frontier, one.coming = one.coming, []


class PlainDispatcher(Part):
    """Deals vertices out to readers."""

    PORTS = (
        Input("entries", STREAM_ELEMENT),
        Output("wanted", LINE, optional=True),
        Input("starts", LINE, optional=True),
        Output("jobs", STREAM_JOB, array=True),
        Output("sources", SOURCES, array=True),
    )
    COUNTERS = ("dealt", "vertices")
    turn = 0

    def step(self):
        moved = self.wanted is not None and self._look_up()
        ready = self.entries if self.starts is None else self.starts
        if ready.can_pop() and (self._end() if ready.control() == STOP else self._deal(ready)):
            ready.pop()
            moved = True
        return moved

    def _first(self, place):
        if self.machine.all_active:
            return place * self.machine.group
        return self.one.frontier[place][0] if place < len(self.one.frontier) else 0

    def _look_up(self):
        if not (self.entries.can_pop() and self.wanted.can_push()):
            return False
        place = self.entries.coordinate()
        line = self._first(place) * 8 // self.parameters.prefetch.line
        self.wanted.push(self.entries.control(), line, place)
        self.entries.pop()
        return True

    def _end(self):
        rooms = [one.can_push() for one in self.sources]
        if all(rooms):
            for one in self.sources:
                one.push(STOP)
        return all(rooms)

    def _deal(self, ready):
        turns = [(self.turn + i) % len(self.jobs) for i in range(len(self.jobs))]
        rooms = {i: self.sources[i].space() for i in turns if self.jobs[i].can_push()}
        reader = max(rooms, key=rooms.__getitem__, default=None)
        if reader is None or rooms[reader] == 0:
            return False
        place = ready.coordinate() if self.starts is None else ready.reference()
        first, many = self._first(place), self.machine.group if self.machine.all_active else 1
        end = min(first + many, self.one.count)
        value = 0.0 if self.machine.all_active else self.one.frontier[place][1]
        pointers = self.one.edges.pointers[self.machine.shared.slice]
        known = self.machine.all_active or not self.machine.kept
        start = pointers[first - first % max(1, self.parameters.table.coarsen)]
        self.jobs[reader].push(0, start, pointers[end] if known else OPEN)
        self.sources[reader].push(DATA, first, end, value)
        self.dealt += 1
        self.vertices += end - first
        self.turn = (reader + 1) % len(self.jobs)
        return True


class PlainEdgePipe(Part):
    """Takes edges from readers in turn; ``lists`` are the vertices that each is at."""

    PORTS = (
        Input("sources", SOURCES, array=True),
        Input("elements", STREAM_ELEMENT, array=True),
        Output("stops", STREAM_STOP, array=True),
        Output("sent", EDGE),
    )
    COUNTERS = ("edges", "passed", "dropped")
    turn = 0

    def course(self):
        while True:
            readers = len(self.sources)
            self.lists, self.ended = [None] * readers, [False] * readers
            while not all(self.ended):
                yield self._step(readers)
            for told in range(self.parameters.streams):
                while not self.sent.can_push():
                    yield False
                self.sent.push(STOP, told)
                yield True

    def _step(self, readers):
        moved = sent = False
        for reader in [(self.turn + i) % readers for i in range(readers)]:
            if self.lists[reader] is None and not self.ended[reader] and self.sources[reader].can_pop():
                self._begin(reader, self.sources[reader])
                moved = True
            if self.lists[reader] is None or not self.elements[reader].can_pop():
                continue
            if not self._is_to_be_sent(reader, self.elements[reader]):
                self.elements[reader].pop()
                moved = True
            elif not sent and self.sent.can_push():
                self._send(reader, self.elements[reader])
                sent = True
        return moved or sent

    def _begin(self, reader, source):
        if source.control() == STOP:
            self.ended[reader] = True
        else:
            vertices = deque(range(source.coordinate(), source.reference()))
            self.lists[reader] = {"vertices": vertices, "value": source.value(), "stopped": False}
        source.pop()

    def _is_to_be_sent(self, reader, elements):
        one, pointers = self.lists[reader], self.one.edges.pointers[self.machine.shared.slice]
        edge = elements.coordinate()
        if elements.control() == STOP:
            self.lists[reader] = None
            return False
        if one["stopped"]:
            self.dropped += 1
            return False
        if edge < pointers[one["vertices"][0]]:
            self.passed += 1
            return False
        while edge >= pointers[one["vertices"][0] + 1] and len(one["vertices"]) > 1:
            one["vertices"].popleft()
        if edge < pointers[one["vertices"][0] + 1]:
            return True
        one["stopped"] = True
        self.stops[reader].push(0)
        self.dropped += 1
        return False

    def _send(self, reader, elements):
        one, edge = self.lists[reader], elements.coordinate()
        value = self.one.sent[one["vertices"][0]] if self.machine.all_active else one["value"]
        weight = sum(len(other.destinations) for other in self.machine.edges[: self.one.number]) + edge
        self.sent.push(DATA, self.one.edges.destinations[edge], weight, value)
        elements.pop()
        self.edges += 1
        self.turn = (reader + 1) % len(self.sources)


class PlainProcessor(Part):
    """A message for each edge, and one stop for those of all streams."""

    PORTS = (Input("source", EDGE), Output("updates", UPDATE))
    COUNTERS = ("edges",)
    stops = 0

    def step(self):
        if not self.source.can_pop():
            return False
        stops = self.source.control() == STOP
        last = stops and self.stops + 1 == self.parameters.streams
        if (last or not stops) and not self.updates.can_push():
            return False
        if stops:
            self.stops = (self.stops + 1) % self.parameters.streams
            if last:
                self.updates.push(STOP)
        else:
            own = self.source.coordinate() // self.parameters.streams
            self.updates.push(DATA, own, 0, self._message())
            self.edges += 1
        self.source.pop()
        return True

    def _message(self):
        weights = [weight for one in self.machine.edges for weight in one.weights]
        value, weight = self.source.value(), weights[self.source.reference()]
        ways = {"hop": value + 1.0, "weigh": value + weight, "copy": value}
        return ways[self.machine.program.process_edge]
