# cython: infer_types=True
"""The step count of two scanners that intersect two fibers and exchange the coordinates that they find."""

from __future__ import annotations

from array import array

END = 1 << 62  # message of a scanner that found no further coordinate; larger than every coordinate
FIRST_MESSAGES = 64  # messages that a scanner can hold before its arrays grow


class Scanner:  # C: final
    """One of two scanners: its position in a fiber, its clock, and the messages that it sent to the other.

    After ``begin``, both scanners call ``receive``, then both call ``look_up``, until both are at their ends.
    A scanner at its end does nothing in these calls.

    Args:
        coordinates: coordinates of all fibers of an operand, one fiber after another.
    """

    def __init__(self, coordinates: memoryview[int]) -> None:
        self.coordinates = coordinates  # C: long[::1]
        self.first = self.position = self.end = 0
        self.stride = 1  # distance between two held coordinates, in elements
        self.sought = 0  # coordinate of the next look-up
        self.clock = 0  # steps in this fiber so far
        self.messages_read = 0  # number of messages received from the other scanner
        # Messages to the other scanner: each a coordinate, and the step from which it can be received.
        self.message_count = 0
        self.messages = array("q", bytes(8 * FIRST_MESSAGES))
        self.times = array("q", bytes(8 * FIRST_MESSAGES))

    def begin(self, first: int, end: int, held_count: int) -> None:
        """Start a fiber, which must not be empty, and forget the messages of the fiber before.

        Args:
            first, end: first element of the fiber, and the element after its last one.
            held_count: largest number of coordinates that the scanner holds, at least 1.
        """
        self.first = self.position = first
        self.end = end
        self.stride = (end - first + held_count - 1) // held_count
        self.clock = self.messages_read = self.message_count = 0
        # Each look-up passes at least one element and sends one message, so these arrays cannot overflow.
        if end - first >= len(self.messages):
            self.messages = array("q", bytes(16 * (end - first)))
            self.times = array("q", bytes(16 * (end - first)))

    def receive(self, sender: Scanner) -> None:  # C: noexcept
        """Set ``sought`` to the next coordinate, or to the next message of ``sender`` if it is larger.

        At most one message is received, and only if this scanner's clock has reached the message's step.
        """
        if self.position == self.end:
            return
        self.sought = self.coordinates[self.position]
        if self.messages_read < sender.message_count and sender.times[self.messages_read] <= self.clock:
            self.sought = max(self.sought, sender.messages[self.messages_read])
            self.messages_read += 1

    def look_up(self) -> None:  # C: noexcept
        """Find the first coordinate that is not below the sought one, and send it as a message."""
        if self.position == self.end:
            return
        position, coordinate = self.position, END
        while position < self.end and self.coordinates[position] < self.sought:
            position += 1
        passed = self.stride - 1  # coordinates to pass from the held one before
        if position < self.end:
            coordinate = self.coordinates[position]
            if coordinate == self.sought:  # the walk from the held coordinate before stops at the match
                passed = (position - self.first) % self.stride
        # One step for the look-up, and one for each coordinate that is passed on the shorter way.
        self.clock += 1 + min(position - self.position, passed)
        self.messages[self.message_count], self.times[self.message_count] = coordinate, self.clock
        self.message_count += 1
        self.position = min(position + 1, self.end)


class ScannerPair:  # C: final
    """Counts the steps of two scanners that intersect two fibers, one scanner per fiber.

    In a look-up, a scanner seeks the larger of its next coordinate and the coordinate that the other scanner
    sent. It moves to its first coordinate that is not below the sought one, and takes it. If both scanners
    hold all coordinates of their fibers, a look-up takes one step and both scanners do a look-up in every
    step. Each sends the coordinate that it has sought. The intersection ends when one of them has passed its
    last element.

    Of a longer fiber, a scanner holds only ``held_count`` evenly spaced coordinates. A look-up passes the
    others one by one, a step each. It starts from the element taken last or from a held coordinate, whichever
    is nearer. From a held coordinate, a look-up that does not find the sought coordinate passes all
    coordinates up to the next held one. If at least one fiber is longer, the two scanners have separate
    clocks, and each sends the coordinate that it has found, not the coordinate that it has sought. A scanner
    receives at most one message per look-up, and only if its own clock has reached the step in which the
    message was sent. Each scanner continues to the end of its fiber; the message that the other found no
    further coordinate takes it there in one look-up. The number of steps is the larger of the two clocks.

    Source: the simulator that ExTensor's authors published (github.com/FPSG-UIUC/DRT), with 33 coordinates.

    Args:
        coordinates_a, coordinates_b: coordinates of all fibers of the operands, one fiber after another.
        fibers_b: index of the first element of each fiber of B, and the number of elements of B.
        held_count: number of coordinates of a fiber that a scanner holds; 0 for all.
    """

    def __init__(
        self,
        coordinates_a: memoryview[int],
        coordinates_b: memoryview[int],
        fibers_b: memoryview[int],
        held_count: int = 0,
    ) -> None:
        self.coordinates_a = coordinates_a  # C: long[::1]
        self.coordinates_b = coordinates_b  # C: long[::1]
        self.fibers_b = fibers_b  # C: long[::1]
        self.held_count = held_count
        self.scanner_a, self.scanner_b = Scanner(coordinates_a), Scanner(coordinates_b)

    def steps(self, a: int, end_a: int, fiber: int, last_fiber: int) -> int:
        """Return the steps that a fiber of A takes with each of a range of fibers of B, summed.

        A pair with an empty fiber takes no steps.

        Args:
            a, end_a: first element of the fiber of A, and the element after its last one.
            fiber, last_fiber: number of the first fiber of B, and the number after the last one.
        """
        steps = 0
        for number in range(fiber, last_fiber):
            steps += self._pair_steps(a, end_a, self.fibers_b[number], self.fibers_b[number + 1])
        return steps

    def _pair_steps(self, a: int, end_a: int, b: int, end_b: int) -> int:
        """Return the steps for the elements ``a`` to ``end_a`` - 1 of A and ``b`` to ``end_b`` - 1 of B."""
        if self.held_count and (end_a - a > self.held_count or end_b - b > self.held_count):
            return self._long_pair_steps(a, end_a, b, end_b)
        steps = sought = 0
        while a < end_a and b < end_b:
            steps += 1
            next_a, next_b = self.coordinates_a[a], self.coordinates_b[b]
            while a < end_a and self.coordinates_a[a] < sought:
                a += 1
            while b < end_b and self.coordinates_b[b] < sought:
                b += 1
            # Each scanner sends what it sought; the larger of both messages bounds the next look-ups.
            sought = max(sought, next_a, next_b)
            a += 1
            b += 1
        return steps

    def _long_pair_steps(self, a: int, end_a: int, b: int, end_b: int) -> int:
        """Return the steps if at least one of the fibers has more coordinates than a scanner holds."""
        scanner_a, scanner_b = self.scanner_a, self.scanner_b
        if a == end_a or b == end_b:
            return 0
        scanner_a.begin(a, end_a, self.held_count)
        scanner_b.begin(b, end_b, self.held_count)
        while scanner_a.position < end_a or scanner_b.position < end_b:
            # Both receive before either looks up, so that neither sees a message of the same round.
            scanner_a.receive(scanner_b)
            scanner_b.receive(scanner_a)
            scanner_a.look_up()
            scanner_b.look_up()
        return max(scanner_a.clock, scanner_b.clock)
