# cython: infer_types=True
"""Two scanners that intersect two fibers, each of which tells the other what it has found."""

from __future__ import annotations

from array import array

END = 1 << 62  # what a scanner tells that is through: no coordinate is behind it
FIRST_MESSAGES = 64


class Scanner:  # C: final
    """A fiber that one of two scanners goes through: its place, its clock, and what it told the other.

    Args:
        coordinates: all of an operand, fiber behind fiber.
    """

    def __init__(self, coordinates: memoryview[int]) -> None:
        self.coordinates = coordinates  # C: long[::1]
        self.first = self.place = self.end = 0
        self.stride = 1  # from one coordinate that it holds to the next
        self.sought = 0
        self.clock = 0  # cycles so far
        self.heard = 0  # messages of the other, and
        self.message_count = 0  # its own: coordinates, and the cycles from which on they can be heard
        self.messages = array("q", bytes(8 * FIRST_MESSAGES))
        self.times = array("q", bytes(8 * FIRST_MESSAGES))

    def begin(self, first: int, end: int, held: int) -> None:
        """Turn to the fiber from ``first`` to ``end``, of which so many coordinates are held."""
        self.first = self.place = first
        self.end = end
        self.stride = (end - first + held - 1) // held
        self.clock = self.heard = self.message_count = 0
        if end - first >= len(self.messages):
            self.messages = array("q", bytes(16 * (end - first)))
            self.times = array("q", bytes(16 * (end - first)))

    def hear(self, other: Scanner) -> None:  # C: noexcept
        """Seek the next coordinate, or what the other has told if that is behind it."""
        if self.place == self.end:
            return
        self.sought = self.coordinates[self.place]
        if self.heard < other.message_count and other.times[self.heard] <= self.clock:
            self.sought = max(self.sought, other.messages[self.heard])
            self.heard += 1

    def look_up(self) -> None:  # C: noexcept
        """Take the first coordinate that is not below the one sought, and tell it."""
        if self.place == self.end:
            return
        place, coordinate = self.place, END
        while place < self.end and self.coordinates[place] < self.sought:
            place += 1
        behind = self.stride - 1  # coordinates to look at behind one that is held
        if place < self.end:
            coordinate = self.coordinates[place]
            if coordinate == self.sought:
                behind = (place - self.first) % self.stride
        self.clock += 1 + min(place - self.place, behind)
        self.messages[self.message_count], self.times[self.message_count] = coordinate, self.clock
        self.message_count += 1
        self.place = min(place + 1, self.end)


class ScannerPair:  # C: final
    """Counts what two scanners take that intersect two fibers, one of each.

    Each looks for the larger of its next coordinate and what it has heard of the other, takes the first that
    is not below, and tells that. Where both hold all coordinates of their fibers a look-up is a step, both go
    on in every step, and the first that has taken its last ends it.

    Of a longer fiber a scanner holds coordinates that are evenly spaced. A look-up passes the others one by
    one, from the last one that was taken or from one that is held, whichever is nearer, a step each. So the
    two have clocks of their own; each hears a message a look-up, once its clock has come to when that was
    told. Each goes on to its end, to which it comes at once when it hears that the other found nothing more.
    The later clock counts.

    Source: the simulator that ExTensor's authors published (github.com/FPSG-UIUC/DRT), with 33 coordinates.

    Args:
        coordinates_a, coordinates_b: all of the operands, fiber behind fiber.
        fibers_b: where each fiber of B begins, and the last one ends.
        held: coordinates that a scanner holds; 0: all.
    """

    def __init__(
        self,
        coordinates_a: memoryview[int],
        coordinates_b: memoryview[int],
        fibers_b: memoryview[int],
        held: int = 0,
    ) -> None:
        self.coordinates_a = coordinates_a  # C: long[::1]
        self.coordinates_b = coordinates_b  # C: long[::1]
        self.fibers_b = fibers_b  # C: long[::1]
        self.held = held
        self.of_a, self.of_b = Scanner(coordinates_a), Scanner(coordinates_b)

    def steps(self, a: int, end_a: int, fiber: int, last: int) -> int:
        """Steps for the fiber of A from ``a`` to ``end_a``, and each of B's from a number to the last."""
        steps = 0
        for number in range(fiber, last):
            steps += self._of_two(a, end_a, self.fibers_b[number], self.fibers_b[number + 1])
        return steps

    def _of_two(self, a: int, end_a: int, b: int, end_b: int) -> int:
        """Steps for the fibers that lie from ``a`` to ``end_a`` and from ``b`` to ``end_b``."""
        if self.held and (end_a - a > self.held or end_b - b > self.held):
            return self._apart(a, end_a, b, end_b)
        steps = sought = 0
        while a < end_a and b < end_b:
            steps += 1
            next_a, next_b = self.coordinates_a[a], self.coordinates_b[b]
            while a < end_a and self.coordinates_a[a] < sought:
                a += 1
            while b < end_b and self.coordinates_b[b] < sought:
                b += 1
            sought = max(sought, next_a, next_b)
            a += 1
            b += 1
        return steps

    def _apart(self, a: int, end_a: int, b: int, end_b: int) -> int:
        """Steps where one of the fibers is longer than what a scanner holds."""
        of_a, of_b = self.of_a, self.of_b
        if a == end_a or b == end_b:
            return 0
        of_a.begin(a, end_a, self.held)
        of_b.begin(b, end_b, self.held)
        while of_a.place < end_a or of_b.place < end_b:
            of_a.hear(of_b)
            of_b.hear(of_a)
            of_a.look_up()
            of_b.look_up()
        return max(of_a.clock, of_b.clock)
