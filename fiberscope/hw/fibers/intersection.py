# cython: infer_types=True
"""Step-by-step intersection of two fibers: of coordinate arrays within a component, and of bit masks."""

from __future__ import annotations

from fiberscope.hw.lanes import channels as lanes
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.rows import check_size
from fiberscope.hw.stream import LAST, MASK, MET, STEP
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError

# Rules: how the smaller of two heads advances.
SKIP = "skip"  # to the first coordinate that is not below the other head
TWO_FINGER = "two_finger"  # by one element
RULES = (SKIP, TWO_FINGER)

# Defaults of arguments that only ``FiberIntersection.find_match`` needs.
NO_VALUES = memoryview(bytearray()).cast("d")
NO_FIBERS = memoryview(bytearray()).cast("q")


class FiberIntersection:  # C: final
    """The intersection of two increasing lists of coordinates, as a pair of heads that advance in steps.

    A step finds the heads equal, or advances the smaller head: to the first coordinate that is not below the
    other head (skip-ahead, ExTensor), or by one element (two fingers). The intersection ends when one list
    ends. A component that performs a number of steps per cycle calls ``advance``; a model that computes whole
    fibers at once calls ``find_match``.

    ``a`` and ``b`` are the positions of the heads. ``has_match`` is whether the last step found the heads
    equal. ``steps`` is the number of steps so far. ``matches`` and ``total`` are the results of the last
    ``find_match``.

    Source: ExTensor (MICRO 2019): skip-ahead. The component is ``MaskIntersector`` for fibers that are masks,
    and ``fiberscope.hw.fibers.intersect.SkipAheadIntersector`` for fibers that are streams.

    Args:
        coordinates_a, coordinates_b: coordinates of all fibers of the operands, one fiber after another.
        values_a, values_b: values of these elements; required by ``find_match`` only.
        fibers_b: index of the first element of each fiber of B, then the number of elements of B; required by
            ``find_match`` only.
        skip: whether the smaller head skips ahead.
        value_type: type of the values.
    """

    def __init__(
        self,
        coordinates_a: memoryview[int],
        coordinates_b: memoryview[int],
        values_a: memoryview[float] = NO_VALUES,
        values_b: memoryview[float] = NO_VALUES,
        fibers_b: memoryview[int] = NO_FIBERS,
        *,
        skip: bool = True,
        value_type: ValueType = DOUBLE,
    ) -> None:
        self.coordinates_a = coordinates_a  # C: long[::1]
        self.coordinates_b = coordinates_b  # C: long[::1]
        self.values_a = values_a  # C: double[::1]
        self.values_b = values_b  # C: double[::1]
        self.fibers_b = fibers_b  # C: long[::1]
        self.skip = skip
        self.value_type = value_type
        self.a = self.end_a = 0
        self.b = self.end_b = 0
        self.has_match = False
        self.steps = 0
        self.matches = 0  # matches of the last two fibers of ``find_match``
        self.total = 0.0

    def begin(self, a: int, end_a: int, b: int, end_b: int) -> None:  # C: noexcept
        """Start to intersect two fibers; ``steps`` continues to count.

        Args:
            a, end_a: position of the first element of the fiber of A, and the position after its last one.
            b, end_b: as ``a`` and ``end_a``, for the fiber of B.
        """
        self.a, self.end_a = a, end_a
        self.b, self.end_b = b, end_b
        self.has_match = False

    def has_ended(self) -> bool:  # C: noexcept
        """Return whether at least one of the fibers has ended; equal heads first need ``pass_match``."""
        return self.a == self.end_a or self.b == self.end_b

    def advance(self, limit: int) -> bool:  # C: noexcept
        """Perform up to ``limit`` steps, until two heads are equal; return whether they are.

        Heads that were equal before are passed first, without a step.
        """
        if self.has_match:
            self.pass_match()
        steps = 0
        while not self.has_match and steps < limit and self.a < self.end_a and self.b < self.end_b:
            steps += 1
            head_a, head_b = self.coordinates_a[self.a], self.coordinates_b[self.b]
            if head_a == head_b:
                self.has_match = True
            elif head_a < head_b:
                self.a = self._next_a(self.a, self.end_a, head_b)
            else:
                self.b = self._next_b(self.b, self.end_b, head_a)
        self.steps += steps
        return self.has_match

    def find_match(self, a: int, end_a: int, fiber: int, last_fiber: int) -> int:
        """Intersect a fiber of A with fibers of B in order, up to the first with a common coordinate.

        The steps are those of ``begin`` and of ``advance`` until the end.

        Args:
            a, end_a: first element of the fiber of A, and the element after its last one.
            fiber, last_fiber: number of the first fiber of B, and the number after the last one.

        Returns:
            The number of the fiber of B with a common coordinate; ``last_fiber`` if there is none.
            ``matches`` is the number of coordinates that this fiber has in common, and ``total`` the sum of
            their products; both are 0 if there is none.
        """
        total = 0.0
        matches = steps = 0
        while fiber < last_fiber:
            head, b, end_b = a, self.fibers_b[fiber], self.fibers_b[fiber + 1]
            while head < end_a and b < end_b:
                steps += 1
                head_a, head_b = self.coordinates_a[head], self.coordinates_b[b]
                if head_a == head_b:
                    total = self.add_product(total, head, b)
                    matches += 1
                    head += 1
                    b += 1
                elif head_a < head_b:
                    head = self._next_a(head, end_a, head_b)
                else:
                    b = self._next_b(b, end_b, head_a)
            if matches > 0:
                break
            fiber += 1
        self.total, self.matches = total, matches
        self.steps += steps
        return fiber

    def add_product(self, total: float, a: int, b: int) -> float:
        """Return ``total`` plus the product of two elements, both rounded to the type of the values.

        Args:
            total: sum so far.
            a: position of the element of A.
            b: position of the element of B.
        """
        kind = self.value_type
        return kind.add(total, kind.multiply(self.values_a[a], self.values_b[b]))

    def _next_a(self, head: int, end: int, coordinate: int) -> int:  # C: noexcept, inline
        """Return the next position of A's head, whose coordinate is below the coordinate ``coordinate``."""
        head += 1
        while self.skip and head < end and self.coordinates_a[head] < coordinate:
            head += 1
        return head

    def _next_b(self, head: int, end: int, coordinate: int) -> int:  # C: noexcept, inline
        """Return the next position of B's head, whose coordinate is below the coordinate ``coordinate``."""
        head += 1
        while self.skip and head < end and self.coordinates_b[head] < coordinate:
            head += 1
        return head

    def pass_match(self) -> None:  # C: noexcept
        """Pass two equal heads, without a step."""
        self.a += 1
        self.b += 1
        self.has_match = False


class MaskIntersector(Component):
    """Intersects two fibers that are bit masks, one step per cycle however many coordinates a skip passes.

    Interface: a fiber is a mask of ``words`` words on ``masks_a`` or ``masks_b``, one word per channel. Bit i
    of word w is set if the fiber has the coordinate w * ``width`` + i. Each step sends a token on
    ``results``. Its kind contains ``MET``, with the coordinate, if the heads were equal, and ``LAST`` if the
    step is the last of the two fibers.

    Timing: one step per cycle by the rule of ``FiberIntersection``, from the cycle on in which all words of
    both masks are visible. The masks are popped in the cycle of the last step, and the next two fibers follow
    without a gap. Two fibers of which one is empty take one step. The only register of the hardware holds
    which coordinates are passed.

    Accounting: busy in a step; waiting for output while ``results`` has no free slot; waiting for the first
    missing word if another word is visible; else idle.

    Source: ExTensor (MICRO 2019): skip-ahead, one step per cycle. Fibers of a microtile as masks are a choice
    of this model; no step then waits for the coordinates that a skip passes.

    Args:
        words: number of words of a mask, 1 to 256.
        width: bits of a word, 1 to 62.
        rule: ``"skip"`` or ``"two_finger"``.

    Raises:
        ValueError: if ``rule``, ``words`` or ``width`` is not one of these.
        SimulationError: when built, unless each mask has ``words`` channels; in the run, if a word has more
            than ``width`` bits.
    """

    PORTS = (Input("masks_a", MASK, array=True), Input("masks_b", MASK, array=True), Output("results", STEP))
    COUNTERS = ("intersect", "matches", "fibers")  # steps, matches, and pairs of fibers
    SIGNALS = (Signal("within", 1), Signal("intersect", 48), Signal("matches", 48))

    masks_a: list[Channel]
    masks_b: list[Channel]
    results: Channel

    def __init__(self, name: str, words: int, width: int = 32, rule: str = SKIP) -> None:
        super().__init__(name)
        check_size(name, words, width)
        if rule not in RULES:
            raise ValueError(f"{name}: rule must be {' or '.join(RULES)}, not {rule}")
        self.words = words
        self.width = width
        self.rule = rule
        self.coordinates_a, self.coordinates_b = (
            memoryview(bytearray(8 * words * width)).cast("q") for _ in "ab"
        )  # C: coordinates_a=long[::1], coordinates_b=long[::1]
        self.intersection = FiberIntersection(self.coordinates_a, self.coordinates_b, skip=rule == SKIP)
        self.within = False  # whether an intersection is in progress
        self.intersect = self.matches = self.fibers = 0

    def elaborate(self) -> None:
        """Look up the channels, and check the number of words of each mask.

        Raises:
            SimulationError: if a mask does not have ``words`` channels.
        """
        super().elaborate()
        for port in ("masks_a", "masks_b"):
            check_connected(self, port, self.words)

    def tick(self, now: int) -> int:
        """Perform a step, if its result has a free slot."""
        if not self.within and (
            lanes.first_missing(self.masks_a) >= 0 or lanes.first_missing(self.masks_b) >= 0
        ):
            return self._wait()
        if not self.results.can_push():
            return self.wait_output(self.results)
        if not self.within:
            self._start_fibers()
        self._step()
        return self.busy(now + 1)

    def _wait(self) -> int:
        """Wait for the first missing word if another word is visible; else the unit is idle."""
        if not (lanes.any_shown(self.masks_a) or lanes.any_shown(self.masks_b)):
            return self.idle()
        missing = lanes.first_missing(self.masks_a)
        if missing >= 0:
            return self.wait_input(self.masks_a[missing])
        return self.wait_input(self.masks_b[lanes.first_missing(self.masks_b)])

    def _start_fibers(self) -> None:
        """Start the intersection of the masks at the heads of the channels."""
        end_a = self._write_coordinates(self.masks_a, self.coordinates_a)
        end_b = self._write_coordinates(self.masks_b, self.coordinates_b)
        self.intersection.begin(0, end_a, 0, end_b)
        self.within = True

    def _write_coordinates(
        self, masks: list[Channel], coordinates: memoryview[int]
    ) -> int:  # C: coordinates=long[::1]
        """Write the coordinates of a mask to ``coordinates``, and return their number."""
        count = 0
        for index in range(self.words):
            source = masks[index]  # C: Channel
            word, coordinate = source.coordinate(), index * self.width
            if word < 0 or word >> self.width:
                raise SimulationError(
                    f"{self.name}: {word} at word {index} of a mask has more than {self.width} bits"
                )
            while word > 0:
                if word & 1:
                    coordinates[count] = coordinate
                    count += 1
                word >>= 1
                coordinate += 1
        return count

    def _step(self) -> None:
        """Perform a step, and send its result; after the last step, pop the masks."""
        intersection, kind, coordinate = self.intersection, 0, 0
        if intersection.advance(1):
            kind, coordinate = MET, self.coordinates_a[intersection.a]
            intersection.pass_match()
            self.matches += 1
        if intersection.has_ended():
            kind |= LAST
            self._pop_masks()
        self.intersect += 1
        self.results.push(kind, coordinate)

    def _pop_masks(self) -> None:
        """Pop both masks."""
        for index in range(self.words):
            source_a, source_b = (
                self.masks_a[index],
                self.masks_b[index],
            )  # C: source_a=Channel, source_b=Channel
            source_a.pop()
            source_b.pop()
        self.within = False
        self.fibers += 1
