"""Plain models of the blocks that compute with values: see ``streams.plain``."""

import math

from streams.plain import EVERY_QUIRK, PlainBlock, is_data, is_stop, level_of

OPERATIONS = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "div": lambda a, b: a / b if b else 0.0,
    "max": max,
    "min": min,
}

FUNCTIONS = {
    "relu": lambda a: max(a, 0.0),
    "exp": math.exp,
    "neg": lambda a: -a,
    "abs": abs,
    "square": lambda a: a * a,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
}


class Alu(PlainBlock):
    inputs = ("in1", "in2")

    def __init__(self, quirks=EVERY_QUIRK, operation="mul", neg1=False, neg2=False):
        super().__init__(quirks)
        self.compute = OPERATIONS[operation]
        self.signs = (-1 if neg1 else 1, -1 if neg2 else 1)
        self.multiplies = operation == "mul"
        self.kept = {}  # a stop that has met an integer, by port

    def step(self):
        if not all(self.queues.values()):
            return {}
        tokens = [self.kept.get(port) or self.pop(port) for port in self.inputs]
        self.kept = {}
        if tokens[0] == tokens[1] == "D":
            self.done = True
            return {"val": "D"}
        if all(map(is_data, tokens)):
            a, b = (sign * token for sign, token in zip(self.signs, tokens, strict=True))
            return {"val": self.compute(a, b)}
        if all(map(is_stop, tokens)):
            assert tokens[0] == tokens[1], "unequal stops"
            return {"val": tokens[0]}
        return {"val": self.against_a_stop(tokens)}

    def against_a_stop(self, tokens):
        stop = next(place for place in (0, 1) if is_stop(tokens[place]))
        number = tokens[1 - stop]
        if 13 not in self.quirks or not isinstance(number, int):
            raise TypeError("a value against a stop")
        self.kept[self.inputs[stop]] = tokens[stop]
        return 0 if self.multiplies else number


class UnaryAlu(PlainBlock):
    inputs = ("val",)

    def __init__(self, quirks=EVERY_QUIRK, operation="relu", constant=None):
        super().__init__(quirks)
        if constant is None:
            self.compute = FUNCTIONS[operation]
        else:
            self.compute = lambda a: OPERATIONS[operation](a, constant)

    def step(self):
        if not self.queues["val"]:
            return {}
        token = self.pop("val")
        self.done = token == "D"
        return {"val": self.compute(token) if is_data(token) else token}


class ScalarReduce(PlainBlock):
    inputs = ("val",)

    def __init__(self, quirks=EVERY_QUIRK, operation="sum", drop=False):
        super().__init__(quirks)
        self.combine = OPERATIONS["add" if operation == "sum" else operation]
        self.drops = drop and 15 not in self.quirks
        self.values = []
        self.owed = None

    def update(self):
        """The flag is up for one cycle only, in which nothing happens; then the block begins anew."""
        if self.done and 14 in self.quirks:
            self.done = False
            return {}
        return super().update()

    def step(self):
        if self.owed is not None:
            stop, self.owed = self.owed, None
            return {"val": stop}
        if not self.queues["val"]:
            return {}
        token = self.pop("val")
        if is_data(token):
            self.values.append(token)
            return {}
        if token == "D":
            self.done = True
            return {"val": "D"}
        return self.close(level_of(token))

    def close(self, level):
        values, self.values = self.values, []
        stop = f"S{level - 1}" if level else None
        if not values and self.drops:
            return {"val": stop} if stop else {}
        self.owed = stop
        total = values[0] if values else 0
        for value in values[1:]:
            total = self.combine(total, value)
        return {"val": total}
