"""Plain models of what reads and writes levels and values: see ``streams.plain``."""

from bisect import bisect_left
from collections import deque

from streams.plain import EVERY_QUIRK, PlainBlock, is_data, is_stop, level_of


class Scanner(PlainBlock):
    """Fibers by reference; ``fiber`` lists the elements of one as (coordinate, reference)."""

    inputs = ("ref",)
    needs_successor = False  # to go on within a fiber

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.left = None  # elements of the fiber that have not left; None between fibers
        self.owes = False

    def fiber(self, reference):
        raise NotImplementedError

    def step(self):
        if self.owes:
            return self.end_fiber() if self.queues["ref"] else {}
        if self.left is not None:
            return self.advance()
        if not self.queues["ref"]:
            return {}
        return self.take(self.pop("ref"))

    def take(self, token):
        if token == "D":
            self.done = True
            return self.both("D")
        if is_stop(token):
            return self.both(f"S{level_of(token) + 1}")
        if token == "N":
            self.owes = True
            return self.both("N")
        self.left = deque(self.fiber(token))
        return self.element() if self.left else self.end_fiber()

    def advance(self):
        if not self.left:
            return self.end_fiber()
        if self.needs_successor and not self.queues["ref"]:
            return {}
        return self.element()

    def element(self):
        crd, ref = self.left.popleft()
        return {"crd": crd, "ref": ref}

    def end_fiber(self):
        self.left = None
        self.owes = not self.queues["ref"]
        if self.owes:
            return {}
        return self.both(f"S{level_of(self.pop('ref')) + 1}" if is_stop(self.head("ref")) else "S0")

    def both(self, token):
        return {"crd": token, "ref": token}


class DenseScanner(Scanner):
    def __init__(self, dim, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.dim = dim

    def fiber(self, reference):
        return [(c, reference * self.dim + c) for c in range(max(1, self.dim))]

    def take(self, token):
        assert 6 not in self.quirks or is_data(token) or token == "D", (
            "a dense scanner takes references alone"
        )
        return super().take(token)


class CompressedScanner(Scanner):
    """With the skip port, which a graph may leave open."""

    inputs = ("ref", "skip")
    needs_successor = True

    def __init__(self, seg, crd, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.seg, self.crd = seg, crd
        self.last_coordinate = 0
        self.last_token = {}
        self.pending = None
        self.free = True
        self.stops_skipped = self.stops_sent = 0
        self.first = False

    def fiber(self, reference):
        assert reference < len(self.seg) - 1
        return [(self.crd[a], a) for a in range(self.seg[reference], self.seg[reference + 1])]

    def update(self):
        return {} if self.done else self.step()

    def queue_skip(self, token):
        """A stop makes the coordinates behind the last stop void."""
        queue = self.queues["skip"]
        if is_stop(token):
            while queue and not is_stop(queue[-1]):
                queue.pop()
        queue.append(token)

    def step(self):
        self.take_skip()
        made = self.skipping_step()
        if made:
            self.note(made)
        return made

    def take_skip(self):
        if not (self.queues["skip"] and self.free):
            return
        token = self.pop("skip")
        stale = self.stops_skipped == self.stops_sent and is_data(token) and token < self.last_coordinate
        earlier = self.stops_skipped < self.stops_sent
        if not stale and not earlier:
            self.pending, self.free = token, False
        if is_stop(token):
            self.stops_skipped += 1

    def skipping_step(self):
        applies = not self.owes and self.left and self.pending is not None
        if applies and self.queues["ref"]:
            return self.apply_skip(super().advance)
        return super().step()

    def take(self, token):
        if not is_data(token) or self.pending is None:
            return super().take(token)
        self.left = deque(self.fiber(token))
        return self.apply_skip(lambda: self.last_token) if self.left else self.end_fiber()

    def apply_skip(self, otherwise):
        token, self.pending, self.free = self.pending, None, True
        if is_stop(token):
            self.left.clear()
            return self.end_fiber()
        if token > self.last_coordinate:
            coordinates = [crd for crd, _ in self.left]
            for _ in range(bisect_left(coordinates, token)):
                self.left.popleft()
            return self.element() if self.left else self.end_fiber()
        if otherwise.__name__ == "<lambda>":  # quirk 7: the first element is lost
            self.left.popleft()
        return otherwise()

    def note(self, made):
        self.last_token = made
        if is_data(made["crd"]):
            self.last_coordinate = made["crd"]
        if is_stop(made["crd"]):
            self.stops_sent += 1
        if self.stops_skipped < self.stops_sent:
            self.free = True


class BitVectorScanner(Scanner):
    """One word a fiber; its references are counts of bits."""

    def __init__(self, words, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.words = words

    def take(self, token):
        if is_stop(token):
            return self.both(token)
        if token == "N":
            return self.end_fiber()
        if token == "D":
            return super().take(token)
        self.owes = True
        return {"crd": self.words[token], "ref": sum(word.bit_count() for word in self.words[:token])}


class ArrayLoad(PlainBlock):
    inputs = ("ref",)

    def __init__(self, values, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.values = values

    def step(self):
        if not self.queues["ref"]:
            return {}
        token = self.pop("ref")
        self.done = token == "D"
        if token == "N":
            return {"val": 0}
        return {"val": self.values[token] if is_data(token) else token}


class CompressedWriter(PlainBlock):
    inputs = ("crd",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.crd, self.seg, self.open = [], [0], False

    def step(self):
        if self.queues["crd"]:
            token = self.pop("crd")
            self.done = token == "D"
            if is_data(token) or token == "N":
                self.crd.append(0 if token == "N" else token)
                self.open = True
            elif is_stop(token) and self.open:
                self.seg.append(len(self.crd))
                self.open = False
        return {}


class ValuesWriter(PlainBlock):
    inputs = ("val",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.values = []

    def step(self):
        if self.queues["val"]:
            token = self.pop("val")
            self.done = token == "D"
            if is_data(token):
                self.values.append(token)
        return {}
