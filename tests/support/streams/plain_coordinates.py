"""Plain models of the blocks that drop, split and flatten coordinates: see ``streams.plain``."""

from streams.plain import EVERY_QUIRK, PlainBlock, is_data, is_stop, level_of


class CoordinateDropper(PlainBlock):
    inputs = ("outer", "inner")

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.outer = None
        self.wants_outer, self.wants_inner = True, False
        self.after_stop = True
        self.paired = False  # a stop of the outer stream waits for one of the inner
        self.seen = False  # data of the inner fiber
        self.ended = False  # D of the outer stream has been taken
        self.held = None  # without quirk 19: the inner token that leaves next

    def step(self):
        if self.held == "D":
            self.done = True
            return {"inner": "D"}
        shown = None
        if self.wants_outer and self.queues["outer"]:
            shown = self.take_outer(self.pop("outer"))
        emitted = {}
        if self.wants_inner:
            shown = None
            if self.queues["inner"]:
                token = self.pop("inner")
                passed = self.pass_on(token)
                emitted = {} if passed is None else {"inner": passed}
                shown = self.take_inner(token)
        return emitted if shown is None else emitted | {"outer": shown}

    def take_outer(self, token):
        self.outer, self.seen = token, False
        if is_data(token):
            self.wants_inner, self.wants_outer = True, False
            self.after_stop = self.paired = False
            return None
        if self.after_stop:
            self.wants_inner, self.wants_outer, self.paired = True, False, True
        self.ended = token == "D"
        self.after_stop = True
        return token

    def take_inner(self, token):
        if self.paired:
            assert is_stop(token) == is_stop(self.outer), "the inner stream has data where the outer has none"
        if is_data(token):
            self.seen = True
            return None
        self.wants_outer, self.wants_inner = True, False
        if token == "D":
            self.done = 19 in self.quirks
            assert self.ended
            return "D"
        if is_stop(self.outer):
            return self.outer
        return self.outer if self.seen else None

    def pass_on(self, token):
        """What leaves when this inner token is taken; without quirk 19 no stop of a dropped fiber."""
        if 19 in self.quirks:
            return token
        if is_stop(token) and not self.seen and not self.paired:
            if token == "S0":
                return None
            if self.held == "S0":
                self.held = token
                return None
        held, self.held = self.held, token
        return held


class ValueDropper(PlainBlock):
    inputs = ("outer", "inner")

    def step(self):
        if not all(self.queues.values()):
            return {}
        shown = {port: self.pop(port) for port in self.inputs}
        self.done = shown["outer"] == "D"
        return {} if is_data(shown["inner"]) and shown["inner"] == 0 else shown


class StopDropper(PlainBlock):
    inputs = ("in",)

    def step(self):
        if not self.queues["in"]:
            return {}
        token = self.pop("in")
        self.done = token == "D"
        return {} if is_stop(token) else {"out": token}


class EmptyFiberDropper(PlainBlock):
    inputs = ("in",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.begun = False
        self.stop = None  # the largest of the run
        self.next = None  # what came behind the run

    def step(self):
        if self.next is not None:
            token, self.next = self.next, None
            return self.let_go(token)
        if not self.queues["in"]:
            return {}
        token = self.pop("in")
        if is_stop(token):
            if self.begun or 18 not in self.quirks:
                self.stop = token if self.stop is None else max(self.stop, token, key=level_of)
            return {}
        if not self.begun and token != "D":
            self.stop = None
        if self.stop is None:
            return self.let_go(token)
        stop, self.stop, self.next = self.stop, None, token
        return {"out": stop}

    def let_go(self, token):
        self.begun = True
        self.done = token == "D"
        return {"out": token}


class Split(PlainBlock):
    inputs = ("crd",)

    def __init__(self, quirks=EVERY_QUIRK, split_factor=4, orig_crd=True):
        super().__init__(quirks)
        self.factor = split_factor
        self.whole = orig_crd
        self.chunk = None
        self.open = False  # a chunk has begun and its stop has not left
        self.after_stop = True  # the token before was a stop, or there was none

    def step(self):
        token = self.head("crd")
        if token is None:
            return {}
        if is_data(token):
            return self.place(token)
        if is_stop(token):
            self.pop("crd")
            self.open, self.after_stop = False, True
            if 21 not in self.quirks:
                self.chunk = None
            return {"outer": token, "inner": f"S{level_of(token) + 1}"}
        return self.end()

    def place(self, coordinate):
        chunk = coordinate // self.factor
        if chunk != self.chunk and self.open:
            self.open = False
            return {"inner": "S0"}
        self.pop("crd")
        begins = chunk != self.chunk
        self.chunk, self.open, self.after_stop = chunk, True, False
        inner = {"inner": coordinate if self.whole else coordinate % self.factor}
        return {"outer": chunk} | inner if begins else inner

    def end(self):
        if not self.after_stop:
            self.after_stop = True
            return {"outer": "S0", "inner": "S1"}
        self.pop("crd")
        self.done = True
        return {"outer": "D", "inner": "D"}


class Flatten(PlainBlock):
    inputs = ("outer", "inner")

    def __init__(self, quirks=EVERY_QUIRK, split_factor=4):
        super().__init__(quirks)
        self.factor = split_factor
        self.outer = None
        self.wants_outer = True

    def step(self):
        if 22 not in self.quirks:
            return self.pair()
        if not self.queues["inner"]:
            return {}
        inner = self.pop("inner")
        self.wants_outer |= not is_data(inner)
        if self.wants_outer:
            if not self.queues["outer"]:
                return {}
            self.outer, self.wants_outer = self.pop("outer"), False
        if is_data(inner) and is_data(self.outer):
            return {"crd": self.outer * self.factor + inner}
        if is_stop(inner) and is_stop(self.outer):
            self.wants_outer = True
            return {"crd": self.outer}
        self.done = inner == "D"
        return {"crd": "D"} if self.done else {}

    def pair(self):
        """Without the quirk: tokens are paired by what they belong to, and none is lost."""
        inner = self.head("inner")
        if inner is None:
            return {}
        if self.outer is None or inner == "D" or (is_stop(inner) and inner != "S0"):
            outer = self.head("outer")
            if outer is None:
                return {}
            if not is_data(outer):
                return self.close(self.pop("outer"), self.pop("inner"))
            self.outer = self.pop("outer")
            if is_stop(inner) and inner != "S0":
                return {}
        self.pop("inner")
        if is_data(inner):
            return {"crd": self.outer * self.factor + inner}
        self.outer = None
        return {}

    def close(self, outer, inner):
        if outer == "D":
            assert inner == "D"
            self.done = True
        else:
            assert inner == f"S{level_of(outer) + 1}", "unequal stops"
        self.outer = None
        return {"crd": outer}
