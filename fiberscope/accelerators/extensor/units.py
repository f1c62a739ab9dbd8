# cython: infer_types=True
"""Parts of a processing element with a separate intersector: the buffer before and the core after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.accelerators.extensor.pe import IntersectingCore, MicrotileBuffer
from fiberscope.hw.stream import LAST, MASK, MET, STEP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.errors import SimulationError

if TYPE_CHECKING:
    from fiberscope.accelerators.composition import PartFactory

WORD_BITS = 32  # C: object; of a mask


class ScanningBuffer(MicrotileBuffer):
    """A microtile buffer that sends pairs of fibers to an intersector, as bit masks of their coordinates.

    Interface: that of ``MicrotileBuffer``. Each fiber M0 of A's microtile is paired with each fiber N0 of
    B's microtile. The two masks of a pair leave on ``masks_a`` and ``masks_b`` in the same cycle.

    Timing: that of ``MicrotileBuffer``. One pair of masks a cycle, from the cycle in which the product is
    passed on.

    Args:
        name, a, b, port_bytes, size: arguments of ``MicrotileBuffer``; ``size`` is its ``buffer_bytes``.
        masks_of_a, masks_of_b: masks of all fibers, word by word, from ``fiber_masks``.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        *MicrotileBuffer.PORTS,
        Output("masks_a", MASK, array=True),
        Output("masks_b", MASK, array=True),
    )

    masks_a: list[Channel]
    masks_b: list[Channel]

    def __init__(
        self,
        name: str,
        a: TiledOperand,
        b: TiledOperand,
        port_bytes: int,
        size: int,
        masks_of_a: memoryview[int],
        masks_of_b: memoryview[int],
    ) -> None:
        super().__init__(name, a, b, port_bytes, size)
        self.masks_of_a = masks_of_a  # C: long[::1]
        self.masks_of_b = masks_of_b  # C: long[::1]
        self.unsent: list[tuple[int, int]] = []  # products passed on whose fibers are still to be sent
        # Next fibers to send of the current product, its first fiber of B, and the fibers after its last
        self.fiber_a = self.end_a = 0
        self.first_b = self.fiber_b = self.end_b = 0

    def tick(self, now: int) -> int:
        """Do what ``MicrotileBuffer`` does, and send a pair of masks."""
        wake = MicrotileBuffer.tick(self, now)
        if self._scan():
            # The buffer itself may have nothing to do in the next cycle, while masks are left to send.
            self.wake_at(now + 1)
        return wake

    def _send_product(self) -> None:
        self.unsent.append((self.microtile_a, self.microtile_b))
        MicrotileBuffer._send_product(self)

    def _scan(self) -> bool:
        """Send the masks of the next two fibers if there are free slots; return whether it did."""
        if self.fiber_a == self.end_a and not self._begin_fibers():
            return False
        # The words of a mask are pushed and popped together, so that the first channel stands for all.
        if not (self.masks_a[0].can_push() and self.masks_b[0].can_push()):
            return False
        _send(self.masks_a, self.masks_of_a, self.fiber_a)
        _send(self.masks_b, self.masks_of_b, self.fiber_b)
        self.fiber_b += 1
        if self.fiber_b == self.end_b:
            self.fiber_a += 1
            self.fiber_b = self.first_b
        return True

    def _begin_fibers(self) -> bool:
        """Set up the fibers of the next product; return whether there is one."""
        if not self.unsent:
            return False
        a, b = self.unsent.pop(0)  # C: a=long, b=long
        self.fiber_a, self.end_a = self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]
        self.first_b, self.end_b = self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]
        self.fiber_b = self.first_b
        return True


class SummingCore(IntersectingCore):
    """A core that multiplies and adds the matches that an intersector finds in the fibers of two microtiles.

    Interface: that of ``IntersectingCore``. The steps of the intersector arrive on ``results``, in the order
    of the pairs of fibers.

    Timing: that of ``IntersectingCore``. The core sees a step one cycle after the intersector makes it, and
    takes one step a cycle. While the core waits, the intersector can make the first steps of the next
    product.

    Args:
        arguments, options: positional and keyword arguments of ``IntersectingCore``, without ``scanners``.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (*IntersectingCore.PORTS, Input("results", STEP))

    results: Channel

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.first_b = 0  # first fiber of B's microtile
        self.steps = 0  # steps of the current product so far
        self.matches = 0  # matches of the current two fibers so far
        self.total = 0.0  # sum of the products of these matches
        self.head_a = self.head_b = 0  # elements from which the next match is searched

    def tick(self, now: int) -> int:
        """Pop a step; after the last step of a product do what ``IntersectingCore`` does."""
        if self.is_working and now < self.busy_until:
            if not self.results.can_pop():
                return self.wait_input(self.results)
            self._take(now)
            if now < self.busy_until:
                return self.busy(now + 1)
        return IntersectingCore.tick(self, now)

    def _begin(self, now: int) -> int:
        """Set up the next product, before its steps arrive; return the next cycle to tick in."""
        self._open()
        self.first_b = self.fiber_b
        self.steps = 0
        self.busy_until = MAX_TIME  # unknown until the last step arrives, see ``_end_fibers``
        self._begin_fibers()
        return now + 1

    def _begin_fibers(self) -> None:
        """Set up the next two fibers."""
        self.matches = 0
        self.total = 0.0
        self.head_a = self.a.fiber_elements[self.fiber_a]
        self.head_b = self.b.fiber_elements[self.fiber_b]

    def _take(self, now: int) -> None:
        """Pop a step; multiply if it is a match, and end the pair of fibers if it is the last."""
        kind, coordinate = self.results.control(), self.results.coordinate()
        self.results.pop()
        self.steps += 1
        if kind & MET:
            self._multiply(coordinate)
        if kind & LAST:
            self._end_fibers(now)

    def _multiply(self, coordinate: int) -> None:
        """Add the product of the two elements with this coordinate, which is relative to the microtile."""
        self.head_a = self._find_element(self.a, self.fiber_a, self.head_a, coordinate)
        self.head_b = self._find_element(self.b, self.fiber_b, self.head_b, coordinate)
        self.total = self.intersection.add_product(self.total, self.head_a, self.head_b)
        self.matches += 1

    def _find_element(self, operand: TiledOperand, fiber: int, head: int, coordinate: int) -> int:
        """Return the index of the element with this coordinate in a fiber, searched from the head on.

        Raises:
            SimulationError: if the fiber has no such element.
        """
        # The matches of two fibers arrive in ascending order, so that the head never moves back.
        while head < operand.fiber_elements[fiber + 1]:
            if operand.element_k[head] % self.microtile == coordinate:
                return head
            head += 1
        raise SimulationError(
            f"{self.name}: received coordinate {coordinate}, which fiber {fiber} does not have"
        )

    def _end_fibers(self, now: int) -> None:
        """Store the result of two fibers, and go on to the next two fibers or end the product."""
        if self.matches > 0:
            self._append_sum(self.fiber_a, self.fiber_b, self.matches, self.total)
        self.fiber_b += 1
        if self.fiber_b == self.end_b:
            self.fiber_a += 1
            self.fiber_b = self.first_b
        if self.fiber_a < self.end_a:
            self._begin_fibers()
        else:
            self._close(self.steps)
            self.busy_until = now


PARTS_WITH_UNITS: Mapping[str, PartFactory] = {"buffer": ScanningBuffer, "core": SummingCore}


def _send(masks: list[Channel], words: memoryview[int], fiber: int) -> None:  # C: words=long[::1], cdef
    """Push the mask of a fiber, one word to each channel."""
    first_word = fiber * len(masks)
    for word in range(len(masks)):
        sink = masks[word]  # C: Channel
        sink.push(0, words[first_word + word])


def mask_words(microtile: int) -> int:
    """Return the number of words of a mask with one bit for each coordinate of a microtile."""
    return -(-microtile // WORD_BITS)


def fiber_masks(operand: TiledOperand, microtile: int) -> memoryview[int]:
    """Return the masks of all fibers of an operand, word by word; a bit is set for each K0 of the fiber."""
    return operand.mask_array(microtile, mask_words(microtile), WORD_BITS)
