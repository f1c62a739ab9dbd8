"""A merger that sends one element in ``PERIOD`` cycles, where Gamma's merger sends one in every cycle.

It has the ports, the arguments and the counter ``merged_elements`` of the merger that it replaces. When the
heads of all ways are stops, the merger takes all stops at once and sends one stop.
"""

from fiberscope.hw.fibers.merge import MERGE_TASK
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output

PERIOD = 2  # cycles an element
NO_MERGE = -1


class SlowMerger(Component):
    """Merges fibers into one stream ordered by coordinate, an element in ``PERIOD`` cycles."""

    PORTS = (Input("tasks", MERGE_TASK), Input("ways", STREAM, array=True), Output("merged", STREAM))
    COUNTERS = ("merged_elements",)

    tasks: Channel
    ways: list[Channel]
    merged: Channel

    def __init__(self, name, radix, stages):
        super().__init__(name)
        self.radix = radix
        self.fan_in = NO_MERGE  # ways of the present merge
        self.ready = 0
        self.merged_elements = 0

    def tick(self, now):
        if now < self.ready:
            return self.busy(self.ready)
        if self.fan_in == NO_MERGE and not self._begin():
            return self.idle()
        first = -1
        for i in range(self.fan_in):
            way = self._way(i)
            if not way.can_pop():
                return self.wait_input(way)
            if way.control() == DATA and (first < 0 or way.coordinate() < self._way(first).coordinate()):
                first = i
        if not self.merged.can_push():
            return self.wait_output(self.merged)
        if first < 0:
            self._end()
        else:
            self._emit(self._way(first))
        self.ready = now + PERIOD
        return self.busy(self.ready)

    def _begin(self):
        if not self.tasks.can_pop():
            return False
        self.fan_in = self.tasks.coordinate()
        self.tasks.pop()
        return True

    def _emit(self, way):
        self.merged.push(DATA, way.coordinate(), way.reference(), way.value())
        way.pop()
        self.merged_elements += 1

    def _end(self):
        for i in range(self.fan_in):
            self._way(i).pop()
        self.merged.push(STOP, 0, 0, 0.0)
        self.fan_in = NO_MERGE

    def _way(self, i):
        return self.ways[i]
