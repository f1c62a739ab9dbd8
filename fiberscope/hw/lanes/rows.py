# cython: infer_types=True
"""Base classes of blocks with several lanes, which process a row, one token from each lane, per cycle."""

from __future__ import annotations

from array import array

from fiberscope.hw.lanes.pipeline import Pipeline
from fiberscope.hw.stream import DATA
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError

MAXIMUM_LANES = 256
MAXIMUM_WIDTH = 62  # the sum of two numbers of this many bits fits a signed word of 64 bits


class RowPipeline(Component):
    """A pipeline that accepts a row a cycle and sends a result row for it ``depth`` cycles later.

    A row is one token from each lane. The pipeline accepts a row when all inputs have a token, and sends a
    row when all outputs have a free slot. The stages move in step, see ``fiberscope.hw.lanes.pipeline``.
    With a depth of 0, a row is sent in the cycle in which it is accepted, and the output channels are the
    block's only registers.

    A subclass declares an array of input ports and an array of output ports, and overrides ``_take``. This
    method reads the heads of ``inputs`` and writes the result row to ``kinds``, ``coordinates``,
    ``references`` and ``values``, from index ``place``. If rows need further tokens, the subclass also
    overrides ``_can_take``, ``_prepare`` and ``_wait``.

    Args:
        name: instance name.
        ports: names of the input port array and of the output port array.
        lanes: number of lanes, 1 to 256.
        depth: number of stages whose registers are within the block; the output channels are further
            registers.

    Raises:
        SimulationError: when built, unless both port arrays have ``lanes`` connected ports.
    """

    def __init__(self, name: str, ports: tuple[str, str], lanes: int, depth: int) -> None:
        super().__init__(name)
        self.ports = ports
        self.lanes = lanes
        self.pipeline = Pipeline(depth)
        places = max(depth, 1) * lanes
        self.kinds = array("q", bytes(8 * places))
        self.coordinates = array("q", bytes(8 * places))
        self.references = array("q", bytes(8 * places))
        self.values = array("d", bytes(8 * places))
        self.rows = 0

    def elaborate(self) -> None:
        """Fetch the channels of the lanes.

        Raises:
            SimulationError: unless both port arrays have ``lanes`` connected ports.
        """
        self.inputs, self.outputs = (
            self.channels(port) for port in self.ports
        )  # C: inputs=list, outputs=list
        for port, channels in zip(self.ports, (self.inputs, self.outputs), strict=True):
            if len(channels) != self.lanes:
                raise SimulationError(
                    f"{self.name}: connect {self.lanes} {port}, one a lane, not {len(channels)}"
                )

    def tick(self, now: int) -> int:
        """Send the oldest row, if it is due, and accept a new row."""
        pipeline = self.pipeline
        if pipeline.depth == 0:
            return self._pass_on(now)
        leaves = pipeline.stands(now)
        if leaves:
            full = self._full()
            if full >= 0:
                return self.wait_output(self.outputs[full])
            self._send(pipeline.leave(now) * self.lanes)
        shown = self._shown()
        enters = shown == self.lanes and self._can_take()
        if enters:
            self._enter(pipeline.enter(now) * self.lanes)
        prepares = self._prepare()
        if leaves or enters or prepares:
            return self.busy(now + 1)
        if pipeline.filled > 0:
            return self.busy(pipeline.due())
        return self._wait(shown)

    def _pass_on(self, now: int) -> int:
        """Accept a row and send its result in the same cycle, for a block without stages."""
        shown = self._shown()
        if shown < self.lanes or not self._can_take():
            return self.busy(now + 1) if self._prepare() else self._wait(shown)
        full = self._full()
        if full >= 0:
            return self.wait_output(self.outputs[full])
        self._enter(0)
        self._send(0)
        self._prepare()
        return self.busy(now + 1)

    def _can_take(self) -> bool:  # C: noexcept
        """Return whether everything is available that a row needs in addition to its tokens."""
        return True

    def _prepare(self) -> bool:
        """Pop tokens that later rows need; return whether there were any. Not called during a stall."""
        return False

    def _take(self, place: int) -> None:
        """Write the result of the row at the inputs to the arrays, from index ``place``."""

    def _wait(self, shown: int) -> int:
        """Wait, with an empty pipeline; ``shown`` is the number of inputs that have a token."""
        return self.wait_input(self._missing()) if shown > 0 else self.idle()

    def _full(self) -> int:  # C: noexcept
        """Return the number of the first output without a free slot, or -1."""
        for lane in range(self.lanes):
            output = self.outputs[lane]  # C: Channel
            if not output.can_push():
                return lane
        return -1

    def _shown(self) -> int:  # C: noexcept
        """Return the number of inputs that have a token."""
        shown = 0
        for source in self.inputs:  # C: Channel
            if source.can_pop():
                shown += 1
        return shown

    def _missing(self) -> Channel:
        """Return the first input that has no token; there must be one."""
        lane = 0
        source = self.inputs[lane]  # C: Channel
        while source.can_pop():
            lane += 1
            source = self.inputs[lane]
        return source

    def _enter(self, place: int) -> None:
        """Accept a row; the model computes the result at once and stores it until the row is due."""
        self._take(place)
        for source in self.inputs:  # C: Channel
            source.pop()
        self.rows += 1

    def _send(self, first: int) -> None:
        """Send the result row that starts at index ``first`` of the arrays."""
        for lane in range(self.lanes):
            place = first + lane
            output = self.outputs[lane]  # C: Channel
            if self.kinds[place] == DATA:
                output.push(DATA, self.coordinates[place], self.references[place], self.values[place])
            else:
                output.push(self.kinds[place])


class ArrayPipeline(RowPipeline):
    """A pipeline that processes arrays of unsigned integers row by row.

    The last row of an array has a stop in some lane and in all higher lanes. If the length of the array is a
    multiple of the number of lanes, all lanes of an additional row hold stops.

    A subclass overrides ``_begin``, which is called before the first row of an array, and ``_compute``,
    which is called for each number and writes its result to ``coordinates`` and ``references`` at index
    ``place``. If an array needs further tokens, the subclass also overrides ``_can_begin``.

    Args:
        name, ports, lanes, depth: as of a ``RowPipeline``.
        width: bits of a number, 1 to 62.

    Raises:
        SimulationError: when built, unless both port arrays have ``lanes`` connected ports; during the run,
            if a number is not an unsigned integer of ``width`` bits, or follows a stop in its row.
    """

    def __init__(self, name: str, ports: tuple[str, str], lanes: int, width: int, depth: int) -> None:
        super().__init__(name, ports, lanes, depth)
        self.width = width
        self.largest = (1 << width) - 1
        self.in_array = False  # whether the rows of an array have begun, and not ended
        self.numbers = 0  # numbers accepted so far

    def _can_take(self) -> bool:
        return self.in_array or self._can_begin()

    def _can_begin(self) -> bool:  # C: noexcept
        """Return whether everything is available that an array needs in addition to its rows."""
        return True

    def _begin(self) -> None:
        """Prepare for an array, whose first row is accepted in this cycle."""

    def _compute(self, number: int, reference: int, place: int) -> None:
        """Write the result for a number; called for the numbers in the order of the array."""

    def _wait(self, shown: int) -> int:
        return self.wait_input(self._missing()) if self.in_array or shown > 0 else self.idle()

    def _take(self, place: int) -> None:
        """Check and compute the numbers of the row at the inputs; a stop in the row ends the array."""
        if not self.in_array:
            self._begin()
        length = 0
        for lane in range(self.lanes):
            source = self.inputs[lane]  # C: Channel
            self.kinds[place + lane] = source.control()
            if source.control() == DATA:
                self._check(source.coordinate(), lane, length)
                self._compute(source.coordinate(), source.reference(), place + lane)
                self.values[place + lane] = source.value()
                length += 1
        self.in_array = length == self.lanes
        self.numbers += length

    def _check(self, number: int, lane: int, length: int) -> None:
        """Raise ``SimulationError`` if a number is too wide or follows a stop in its row."""
        if length < lane:
            raise SimulationError(
                f"{self.name}: {self.ports[0]}[{lane}] shows a number in a row with a stop at "
                f"{self.ports[0]}[{length}]; all lanes behind a stop hold stops"
            )
        if number < 0 or number > self.largest:
            raise SimulationError(
                f"{self.name}: {number} at {self.ports[0]}[{lane}] is no unsigned integer "
                f"of {self.width} bits"
            )


class ConstantPipeline(ArrayPipeline):
    """A pipeline that processes arrays with one constant each, which a separate port receives.

    The constant applies to all lanes. It is popped together with the first row of its array, even if that
    row holds only stops. Loading it therefore takes no cycle.

    Args:
        name, ports, lanes, width, depth: as of an ``ArrayPipeline``.
        constants: name of the port for the constants.

    Raises:
        SimulationError: as an ``ArrayPipeline``; also during the run, if a constant is not an unsigned
            integer of ``width`` bits.
    """

    def __init__(
        self, name: str, ports: tuple[str, str], lanes: int, width: int, depth: int, constants: str
    ) -> None:
        super().__init__(name, ports, lanes, width, depth)
        self.constants_port = constants  # C: str
        self.constant = 0  # constant of the current or last array

    def elaborate(self) -> None:
        """Fetch the channels."""
        super().elaborate()
        self.constants = self.channel(self.constants_port)  # C: Channel

    def _can_begin(self) -> bool:
        return self.constants.can_pop()

    def _begin(self) -> None:
        """Pop the constant of the array, and check it."""
        self.constant = self.constants.coordinate()
        if self.constant < 0 or self.constant > self.largest:
            raise SimulationError(
                f"{self.name}: {self.constant} at {self.constants_port} is no unsigned integer "
                f"of {self.width} bits"
            )
        self.constants.pop()

    def _wait(self, shown: int) -> int:
        """Wait for the constant if only it is missing, else for a lane; between arrays, be idle."""
        if shown == self.lanes:
            return self.wait_input(self.constants)
        if self.in_array or shown > 0 or self.constants.can_pop():
            return self.wait_input(self._missing())
        return self.idle()


def check_size(name: str, lanes: int, width: int) -> None:
    """Check a number of lanes and a width of numbers in bits.

    Args:
        name: name of the component, for the message.
        lanes: number of lanes.
        width: bits of a number.

    Raises:
        ValueError: if either is out of its range; the message names the component.
    """
    if not 1 <= lanes <= MAXIMUM_LANES:
        raise ValueError(f"{name}: lanes must be from 1 to {MAXIMUM_LANES}, not {lanes}")
    if not 1 <= width <= MAXIMUM_WIDTH:
        raise ValueError(f"{name}: width must be from 1 to {MAXIMUM_WIDTH}, not {width}")
