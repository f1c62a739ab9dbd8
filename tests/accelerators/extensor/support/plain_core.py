"""The core with a step a cycle: it ticks in each, and knows nothing of what is to come."""

from fiberscope.accelerators.extensor.layout import NO_SLOT, PARTIALS, PRODUCT
from fiberscope.sim import Component, Input, Output


class PlainCore(Component):
    """Stands in for ``IntersectingCore``: plain Python, and lists instead of places in arrays."""

    PORTS = (Input("ready", PRODUCT), Output("partials", PARTIALS))

    def __init__(self, name, a, b, slots, first_slot, *, microtile, shape, skip=True):
        super().__init__(name)
        self.a, self.b, self.skip = a, b, skip
        self.slots, self.first_slot = slots, first_slot
        self.microtile, self.shape = microtile, shape
        self.walk = None
        self.count = dict.fromkeys(
            ("intersect_k0", "multiply", "add", "fiber_pairs", "products", "longest_product"), 0
        )
        self.begun = 0  # steps of all products before

    def elaborate(self):
        self.ready, self.partials = self.channel("ready"), self.channel("partials")

    def tick(self, now):
        if self.walk is not None and next(self.walk, None) is None:
            if not self.partials.can_push():
                return self.wait_output(self.partials)
            self._send()
        if self.walk is None:
            if not self.ready.can_pop():
                return self.idle()
            self.count["products"] += 1
            self.sums = {}
            self.walk = self._walk(self.ready.coordinate(), self.ready.reference())
            next(self.walk)
            self.begun = self.count["intersect_k0"]
        self.count["intersect_k0"] += 1
        return self.busy(now + 1)

    def _send(self):
        place = self.count["products"] % len(self.slots)
        slot, number = self.slots[place], self.first_slot + place
        slot.clear()
        for key, value in self.sums.items():
            slot.append(key, value)
        self.partials.push(self.ready.control(), number if self.sums else NO_SLOT, self.row, 0.0)
        steps = self.count["intersect_k0"] - self.begun
        self.count["longest_product"] = max(self.count["longest_product"], steps)
        self.ready.pop()
        self.walk = None

    def _walk(self, a, b):
        """Yields at each step."""
        side = self.microtile
        for f in range(self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]):
            m = self.a.fiber_coordinates[f]
            self.row = m // side % self.shape[0]
            for g in range(self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]):
                n = self.b.fiber_coordinates[g]
                key = (n // side % self.shape[1] * side + m % side) * side + n % side
                self.count["fiber_pairs"] += 1
                yield from self._dot(fiber(self.a, f), fiber(self.b, g), key)

    def _dot(self, left, right, key):
        while left and right:
            yield True
            (k, value), (other_k, other) = left[0], right[0]
            if k == other_k:
                self.count["multiply"] += 1
                self.count["add"] += key in self.sums
                self.sums[key] = self.sums.get(key, 0.0) + value * other
                left, right = left[1:], right[1:]
            elif k < other_k:
                left = self._behind(left, other_k)
            else:
                right = self._behind(right, k)

    def _behind(self, elements, k):
        return [element for element in elements if element[0] >= k] if self.skip else elements[1:]

    def counters(self):
        return dict(self.count)


def fiber(operand, number):
    """Coordinates and values of a fiber."""
    places = range(operand.fiber_elements[number], operand.fiber_elements[number + 1])
    return [(operand.element_k[place], operand.values[place]) for place in places]
