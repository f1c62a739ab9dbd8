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
    """A pipeline that accepts a row a cycle and sends its result at the earliest ``depth`` cycles later.

    A row is one token from each lane. The pipeline accepts a row when all inputs have a token, and sends a
    row when all outputs have a free slot. The stages move in step, see ``fiberscope.hw.lanes.pipeline``.
    With a depth of 0, a row is sent in the cycle in which it is accepted, and the output channels are the
    block's only registers.

    A subclass declares an array of input ports and an array of output ports, and overrides
    ``_process_row``. This method reads the heads of ``inputs`` and writes the result row to ``kinds``,
    ``coordinates``, ``references`` and ``values``, from index ``index`` on. If rows need further tokens,
    the subclass also overrides ``_can_accept``, ``_prepare`` and ``_wait``. In a cycle
    without a stall, the order of the calls is ``_can_accept``, ``_process_row``, ``_prepare``; the first is
    called only if all inputs have a token. If nothing has moved and the pipeline is empty, ``_wait`` follows.

    Accounting: busy while a row moves or is in a stage; waiting for the first output without a free slot
    while the oldest row is blocked. An empty pipeline waits for the first input without a token if another
    input has one; else it is idle.

    Args:
        ports: names of the input port array and of the output port array.
        lanes: number of lanes, 1 to 256.
        depth: number of stages whose registers are within the block; the output channels are further
            registers.

    Raises:
        SimulationError: when built, if a port array does not have exactly ``lanes`` connected ports.
    """

    def __init__(self, name: str, ports: tuple[str, str], lanes: int, depth: int) -> None:
        super().__init__(name)
        self.ports = ports
        self.lanes = lanes
        self.pipeline = Pipeline(depth)  # unused if the depth is 0
        # A block without stages needs the arrays for the row that it passes on within a cycle
        entries = max(depth, 1) * lanes
        self.kinds = array("q", bytes(8 * entries))
        self.coordinates = array("q", bytes(8 * entries))
        self.references = array("q", bytes(8 * entries))
        self.values = array("d", bytes(8 * entries))
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
            return self._forward(now)
        sends = pipeline.has_due_item(now)
        if sends:
            full_lane = self._first_full_output()
            if full_lane >= 0:
                return self.wait_output(self.outputs[full_lane])
            # The oldest row leaves before a row enters, so that the new row can use its slot
            self._send(pipeline.leave(now) * self.lanes)
        # During a stall the cycle has ended above: no row enters, and nothing is prepared
        valid_inputs = self._count_valid_inputs()
        accepts = valid_inputs == self.lanes and self._can_accept()
        if accepts:
            self._enter(pipeline.enter(now) * self.lanes)
        prepares = self._prepare()
        if sends or accepts or prepares:
            return self.busy(now + 1)
        if pipeline.filled > 0:
            # Nothing can move before the oldest row is due, unless a token arrives and wakes the block
            return self.busy(pipeline.due())
        return self._wait(valid_inputs)

    def _forward(self, now: int) -> int:
        """Accept a row and send its result in the same cycle, for a block without stages."""
        valid_inputs = self._count_valid_inputs()
        if valid_inputs < self.lanes or not self._can_accept():
            return self.busy(now + 1) if self._prepare() else self._wait(valid_inputs)
        full_lane = self._first_full_output()
        if full_lane >= 0:
            return self.wait_output(self.outputs[full_lane])
        self._enter(0)
        self._send(0)
        self._prepare()
        return self.busy(now + 1)

    def _can_accept(self) -> bool:  # C: noexcept
        """Return whether everything is available that a row needs in addition to its tokens."""
        return True

    def _prepare(self) -> bool:
        """Pop tokens that later rows need; return whether there were any. Not called during a stall."""
        return False

    def _process_row(self, index: int) -> None:
        """Write the result of the row at the inputs to the arrays, from ``index`` on."""

    def _wait(self, valid_inputs: int) -> int:
        """Wait, with an empty pipeline; ``valid_inputs`` is the number of inputs that have a token."""
        return self.wait_input(self._first_empty_input()) if valid_inputs > 0 else self.idle()

    def _first_full_output(self) -> int:  # C: noexcept
        """Return the number of the first output without a free slot, or -1."""
        for lane in range(self.lanes):
            output = self.outputs[lane]  # C: Channel
            if not output.can_push():
                return lane
        return -1

    def _count_valid_inputs(self) -> int:  # C: noexcept
        """Return the number of inputs that have a token."""
        count = 0
        for source in self.inputs:  # C: Channel
            if source.can_pop():
                count += 1
        return count

    def _first_empty_input(self) -> Channel:
        """Return the first input that has no token; there must be one."""
        lane = 0
        source = self.inputs[lane]  # C: Channel
        while source.can_pop():
            lane += 1
            source = self.inputs[lane]
        return source

    def _enter(self, index: int) -> None:
        """Accept a row; the model computes the result at once and stores it until the row is due."""
        self._process_row(index)
        for source in self.inputs:  # C: Channel
            source.pop()
        self.rows += 1

    def _send(self, start: int) -> None:
        """Send the result row that starts at index ``start`` of the arrays."""
        for lane in range(self.lanes):
            index = start + lane
            output = self.outputs[lane]  # C: Channel
            if self.kinds[index] == DATA:
                output.push(DATA, self.coordinates[index], self.references[index], self.values[index])
            else:
                output.push(self.kinds[index])


class ArrayPipeline(RowPipeline):
    """A pipeline that processes arrays of unsigned integers row by row.

    The last row of an array has a stop in some lane and in all higher lanes. If the length of the array is a
    multiple of the number of lanes, all lanes of an additional row hold stops. A lane with ``EMPTY`` ends the
    array as a stop does; kinds are passed on unchanged.

    A subclass overrides ``_begin_array``, which is called before the first row of an array, and
    ``_compute``, which is called for each number and writes its result to ``coordinates`` and ``references``
    at index ``index``. If an array needs further tokens, the subclass also overrides ``_can_begin``.

    Args:
        name, ports, lanes, depth: as of a ``RowPipeline``.
        width: bits of a number, 1 to 62.

    Raises:
        SimulationError: when built, if a port array does not have exactly ``lanes`` connected ports; during
            the run, if a number is not an unsigned integer of ``width`` bits, or follows a stop in its row.
    """

    def __init__(self, name: str, ports: tuple[str, str], lanes: int, width: int, depth: int) -> None:
        super().__init__(name, ports, lanes, depth)
        self.width = width
        self.largest = (1 << width) - 1
        self.in_array = False  # whether the rows of an array have begun, and not ended
        self.numbers = 0  # numbers accepted so far

    def _can_accept(self) -> bool:
        return self.in_array or self._can_begin()

    def _can_begin(self) -> bool:  # C: noexcept
        """Return whether everything is available that an array needs in addition to its rows."""
        return True

    def _begin_array(self) -> None:
        """Prepare for an array, whose first row is accepted in this cycle."""

    def _compute(self, number: int, reference: int, index: int) -> None:
        """Write the result for a number; called for the numbers in the order of the array."""

    def _wait(self, valid_inputs: int) -> int:
        return (
            self.wait_input(self._first_empty_input()) if self.in_array or valid_inputs > 0 else self.idle()
        )

    def _process_row(self, index: int) -> None:
        """Check and compute the numbers of the row at the inputs; a stop in the row ends the array."""
        if not self.in_array:
            self._begin_array()
        length = 0
        for lane in range(self.lanes):
            source = self.inputs[lane]  # C: Channel
            self.kinds[index + lane] = source.control()
            if source.control() == DATA:
                self._check(source.coordinate(), lane, length)
                self._compute(source.coordinate(), source.reference(), index + lane)
                self.values[index + lane] = source.value()
                length += 1
        # A row with a stop is the last of its array; a row of stops alone can also be a whole, empty array
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

    def _begin_array(self) -> None:
        """Pop the constant of the array, and check it."""
        self.constant = self.constants.coordinate()
        if self.constant < 0 or self.constant > self.largest:
            raise SimulationError(
                f"{self.name}: {self.constant} at {self.constants_port} is no unsigned integer "
                f"of {self.width} bits"
            )
        self.constants.pop()

    def _wait(self, valid_inputs: int) -> int:
        """Wait for the constant if only it is missing, else for a lane; between arrays, be idle."""
        if valid_inputs == self.lanes:
            return self.wait_input(self.constants)
        if self.in_array or valid_inputs > 0 or self.constants.can_pop():
            return self.wait_input(self._first_empty_input())
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
