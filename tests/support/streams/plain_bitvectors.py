"""Plain models of the blocks on words of bits: see ``streams.plain``."""

from collections import deque

from streams.plain import EVERY_QUIRK, PlainBlock, is_data, is_stop
from streams.plain_coordinates import EmptyFiberDropper


def bits_of(word):
    return [bit for bit in range(word.bit_length()) if word >> bit & 1]


class BitVector(PlainBlock):
    inputs = ("crd",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.word = 0

    def step(self):
        token = self.head("crd")
        if token is None:
            return {}
        if self.word and not is_data(token):
            word, self.word = self.word, 0
            return {"bv": word}
        self.pop("crd")
        if is_data(token):
            self.word |= 1 << token
            return {}
        self.done = token == "D"
        return {"bv": token}


class Chunker(PlainBlock):
    inputs = ("bv",)

    def __init__(self, quirks=EVERY_QUIRK, width=4, size=16):
        super().__init__(quirks)
        self.width, self.chunks = width, -(-size // width)
        self.word = None
        self.count = 0
        self.ones = 0

    def step(self):
        if self.word is None:
            if not self.queues["bv"]:
                return {}
            token = self.pop("bv")
            if not is_data(token):
                self.done = token == "D"
                return {"bv": token, "ref": token}
            self.word, self.ones = token, 0
            if 20 not in self.quirks:
                self.count = 0
        return self.chunk()

    def chunk(self):
        chunk, ones = self.word & ((1 << self.width) - 1), self.ones
        self.ones += chunk.bit_count()
        self.count += 1
        self.word = self.word >> self.width if self.count < self.chunks else None
        return {"bv": chunk, "ref": ones}


class WordIntersect(PlainBlock):
    """Words on in1 and in2, each with its reference; an operand that has ended counts as 0."""

    inputs = ("in1", "in2")

    def __init__(self, quirks=EVERY_QUIRK, emit_zeros=False):
        super().__init__(quirks)
        self.emits_zeros = emit_zeros
        self.pairs = deque()  # references still to leave

    def step(self):
        if self.pairs:
            return self.reference_pair()
        if not all(self.queues.values()):
            return {}
        words = [self.head(port)[1] for port in self.inputs]
        if any(map(is_data, words)):
            ends = zip(self.inputs, words, strict=True)
            assert "D" not in words
            return self.combine(*(self.pop(port) if is_data(word) else (0, 0) for port, word in ends))
        assert words[0] == words[1], "unequal stops"
        for port in self.inputs:
            self.pop(port)
        self.done = words[0] == "D"
        return dict.fromkeys(("bv", "ref1", "ref2"), words[0])

    def combine(self, one, other):
        joined = one[1] & other[1]
        for bit in bits_of(joined):
            self.pairs.append(tuple(reference_of(bit, *pair) for pair in (one, other)))
        if joined:
            return {"bv": joined} | self.reference_pair()
        return {"bv": 0} if self.emits_zeros else {}

    def reference_pair(self):
        ref1, ref2 = self.pairs.popleft()
        return {"ref1": ref1, "ref2": ref2}


def reference_of(bit, ref, word):
    """The reference of a word's bit, counted from that of its first one."""
    return ref + (word & ((1 << bit) - 1)).bit_count()


class BitExpander(PlainBlock):
    """A word with the reference of its first bit on in: its coordinates, 64 a word, and their references."""

    inputs = ("in",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.left = deque()
        self.words = 0  # of the fiber so far

    def step(self):
        if not self.left and self.queues["in"]:
            reference, word = self.pop("in")
            if not is_data(word):
                self.words, self.done = 0, word == "D"
                return {"crd": word, "ref": word}
            self.left.extend((64 * self.words + bit, reference + n) for n, bit in enumerate(bits_of(word)))
            self.words += 1
        return dict(zip(("crd", "ref"), self.left.popleft(), strict=True)) if self.left else {}


class WordClearer(PlainBlock):
    """Clears the bits of the outer word whose inner fiber is empty."""

    inputs = ("outer", "inner")

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.word = None
        self.bits = []
        self.seen = False
        self.bare = None  # without quirk 19: a stop of an empty outer fiber, which waits for the inner one
        self.after_stop = True

    def step(self):
        if self.bare is not None:
            return self.pair() if self.queues["inner"] else {}
        if self.word is None:
            if not self.queues["outer"]:
                return {}
            token = self.pop("outer")
            bare, self.after_stop = self.after_stop and is_stop(token), is_stop(token)
            if bare and 19 not in self.quirks:
                self.bare = token
                return self.pair() if self.queues["inner"] else {}
            if not is_data(token):
                self.done = token == "D"
                return {"outer": token}
            self.word, self.bits, self.seen = token, bits_of(token), False
        if not self.queues["inner"]:
            return {}
        if is_data(self.pop("inner")):
            self.seen = True
            return {}
        return self.end_of_fiber()

    def pair(self):
        assert is_stop(self.pop("inner"))
        stop, self.bare = self.bare, None
        return {"outer": stop}

    def end_of_fiber(self):
        bit, seen, self.seen = self.bits.pop(0), self.seen, False
        if not seen:
            self.word &= ~(1 << bit)
        if self.bits:
            return {}
        word, self.word = self.word, None
        return {"outer": word} if word or seen else {}


class WordDropper(PlainBlock):
    inputs = ("outer", "inner")

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.clearer = WordClearer(quirks)
        self.droppers = {port: EmptyFiberDropper(quirks) for port in self.inputs}

    def step(self):
        for port in self.inputs:
            if self.queues[port]:
                token = self.pop(port)
                self.clearer.queues[port].append(token)
                if port == "inner":
                    self.droppers[port].queues["in"].append(token)
        self.droppers["outer"].queues["in"].extend(self.clearer.update().values())
        emitted = {port: dropper.update().get("out") for port, dropper in self.droppers.items()}
        self.done = all(dropper.done for dropper in self.droppers.values())
        return {port: token for port, token in emitted.items() if token is not None}
