# cython: infer_types=True
"""Intersection of two fibers, step by step: of coordinates in arrays, a part of a component; of masks."""

from __future__ import annotations

from fiberscope.hw.lanes import channels as lanes
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.rows import check_size
from fiberscope.hw.stream import LAST, MASK, MET, STEP
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError

SKIP = "skip"  # rules: the head behind skips,
TWO_FINGER = "two_finger"  # or goes on by one
RULES = (SKIP, TWO_FINGER)

NO_VALUES = memoryview(bytearray()).cast("d")
NO_FIBERS = memoryview(bytearray()).cast("q")


class FiberIntersection:  # C: final
    """Two increasing lists of coordinates and their heads.

    A step finds the heads equal, or moves the one behind: to the first coordinate not below the other's where
    it skips (ExTensor), else by one (two fingers). The intersection ends with the shorter list. Where a
    component may take a step a cycle, it asks for one; one that works fibers out at once, where they
    ``meet``.

    ``a`` and ``b`` are the heads' positions, ``met`` says whether they were found equal, ``steps`` is all
    those made.

    Source: ExTensor (MICRO 2019): skip-ahead. As a component it is ``MaskIntersector`` where fibers are
    masks, and ``fiberscope.hw.fibers.intersect.SkipAheadIntersector`` where they are streams.

    Args:
        coordinates_a, coordinates_b: all coordinates of the operands, fiber behind fiber.
        values_a, values_b: of these coordinates; only ``meet`` needs them.
        fibers_b: where each fiber of B begins, and the last one ends; the same.
        skip: whether the head behind skips.
        value_type: of the values.
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
        self.met = False
        self.steps = 0
        self.matches = 0  # of the two fibers worked out last, and the sum of their products
        self.total = 0.0

    def begin(self, a: int, end_a: int, b: int, end_b: int) -> None:  # C: noexcept
        """Turn to the fibers that lie from ``a`` to ``end_a`` and from ``b`` to ``end_b``."""
        self.a, self.end_a = a, end_a
        self.b, self.end_b = b, end_b
        self.met = False

    def ended(self) -> bool:  # C: noexcept
        """Return whether one of the fibers has come to its end."""
        return self.a == self.end_a or self.b == self.end_b

    def run(self, most: int) -> bool:  # C: noexcept
        """Make up to so many steps, from behind heads that met; ends where they meet again and says so."""
        if self.met:
            self.take()
        steps = 0
        while not self.met and steps < most and self.a < self.end_a and self.b < self.end_b:
            steps += 1
            head_a, head_b = self.coordinates_a[self.a], self.coordinates_b[self.b]
            if head_a == head_b:
                self.met = True
            elif head_a < head_b:
                self.a = self._next_a(self.a, self.end_a, head_b)
            else:
                self.b = self._next_b(self.b, self.end_b, head_a)
        self.steps += steps
        return self.met

    def meet(self, a: int, end_a: int, fiber: int, last: int) -> int:
        """Work a fiber of A out with fibers of B in turn, up to the first that meets it, in all steps.

        As ``begin`` and ``run`` until the end, without what a component needs that looks in between.

        Args:
            a, end_a: where the fiber of A lies.
            fiber, last: numbers of the first fiber of B, and of the one behind the last.

        Returns:
            The fiber that meets A's, in ``matches`` of products that add up to ``total``; ``last`` if none.
        """
        total = 0.0
        matches = steps = 0
        while fiber < last:
            head, b, end_b = a, self.fibers_b[fiber], self.fibers_b[fiber + 1]
            while head < end_a and b < end_b:
                steps += 1
                head_a, head_b = self.coordinates_a[head], self.coordinates_b[b]
                if head_a == head_b:
                    total = self.added(total, head, b)
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

    def added(self, total: float, a: int, b: int) -> float:
        """A sum and the product of two elements."""
        kind = self.value_type
        return kind.add(total, kind.multiply(self.values_a[a], self.values_b[b]))

    def _next_a(self, head: int, end: int, other: int) -> int:  # C: noexcept, inline
        """Return the next place of A's head, which is behind the other head."""
        head += 1
        while self.skip and head < end and self.coordinates_a[head] < other:
            head += 1
        return head

    def _next_b(self, head: int, end: int, other: int) -> int:  # C: noexcept, inline
        """Return the next place of B's head, which is behind the other head."""
        head += 1
        while self.skip and head < end and self.coordinates_b[head] < other:
            head += 1
        return head

    def take(self) -> None:  # C: noexcept
        """Go on behind two heads that met, without a step."""
        self.a += 1
        self.b += 1
        self.met = False


class MaskIntersector(Component):
    """Intersects two fibers that are masks of their coordinates, a step a cycle whatever a skip leaps over.

    Interface: a fiber is a row of words, on ``masks_a`` or ``masks_b``: bit i of word w is set where it has
    the coordinate w * ``width`` + i. Each step leaves on ``results``: its kind is ``MET`` where the heads
    were equal, with their coordinate, and ``LAST`` where it is the last of the two fibers, or both.

    Timing: a step a cycle, by the rule of ``FiberIntersection``, from the cycle on in which both masks show;
    those of the next fibers follow without a gap. The masks are taken in the cycle of the last step. A fiber
    without coordinates takes a step too. The only register says which coordinates are done with.

    Accounting: waiting for output where a step's result has no space; for the first word that is missing
    where another shows; else idle.

    Source: ExTensor (MICRO 2019): skip-ahead, a step a cycle. That fibers of a microtile are masks is a
    choice of this model: so no step waits for the coordinates that a skip leaps over.

    Args:
        name: instance name.
        words: of a mask; 1 to 256.
        width: bits of a word, 1 to 62.
        rule: ``"skip"`` or ``"two_finger"``.

    Raises:
        ValueError: for another rule, or a number out of its range.
        SimulationError: when built, unless there are ``words`` of each mask; in the run, if one has more
            bits.
    """

    PORTS = (Input("masks_a", MASK, array=True), Input("masks_b", MASK, array=True), Output("results", STEP))
    COUNTERS = ("intersect", "matches", "fibers")  # steps, those of them that met, and pairs of fibers
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
        self.both = FiberIntersection(self.coordinates_a, self.coordinates_b, skip=rule == SKIP)
        self.within = False  # two fibers
        self.intersect = self.matches = self.fibers = 0

    def elaborate(self) -> None:
        """Fetch the channels of the words."""
        super().elaborate()
        for port in ("masks_a", "masks_b"):
            check_connected(self, port, self.words)

    def tick(self, now: int) -> int:
        """Make a step, if there is space for its result."""
        if not self.within and (
            lanes.first_missing(self.masks_a) >= 0 or lanes.first_missing(self.masks_b) >= 0
        ):
            return self._wait()
        if not self.results.can_push():
            return self.wait_output(self.results)
        if not self.within:
            self._begin()
        self._step()
        return self.busy(now + 1)

    def _wait(self) -> int:
        if not (lanes.any_shown(self.masks_a) or lanes.any_shown(self.masks_b)):
            return self.idle()
        missing = lanes.first_missing(self.masks_a)
        if missing >= 0:
            return self.wait_input(self.masks_a[missing])
        return self.wait_input(self.masks_b[lanes.first_missing(self.masks_b)])

    def _begin(self) -> None:
        """Turn to the masks that show."""
        end_a = self._listed(self.masks_a, self.coordinates_a)
        end_b = self._listed(self.masks_b, self.coordinates_b)
        self.both.begin(0, end_a, 0, end_b)
        self.within = True

    def _listed(self, masks: list[Channel], coordinates: memoryview[int]) -> int:  # C: coordinates=long[::1]
        """List the coordinates of a mask; returns how many there are."""
        count = 0
        for place in range(self.words):
            source = masks[place]  # C: Channel
            word, coordinate = source.coordinate(), place * self.width
            if word < 0 or word >> self.width:
                raise SimulationError(
                    f"{self.name}: {word} at word {place} of a mask has more than {self.width} bits"
                )
            while word > 0:
                if word & 1:
                    coordinates[count] = coordinate
                    count += 1
                word >>= 1
                coordinate += 1
        return count

    def _step(self) -> None:
        """Compare the heads, and tell what that gave."""
        both, kind, coordinate = self.both, 0, 0
        if both.run(1):
            kind, coordinate = MET, self.coordinates_a[both.a]
            both.take()
            self.matches += 1
        if both.ended():
            kind |= LAST
            self._end()
        self.intersect += 1
        self.results.push(kind, coordinate)

    def _end(self) -> None:
        """Take the masks away."""
        for place in range(self.words):
            source_a, source_b = (
                self.masks_a[place],
                self.masks_b[place],
            )  # C: source_a=Channel, source_b=Channel
            source_a.pop()
            source_b.pop()
        self.within = False
        self.fibers += 1
