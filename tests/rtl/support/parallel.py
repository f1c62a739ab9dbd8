"""Logic of a twin for many cases at once: each wire an array of numbers, a case an entry."""

import numpy as np

OPERATIONS = {
    "w": lambda one: one,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "=": lambda one, other: (one == other).astype(one.dtype),
    "x": lambda choice, low, high: np.where(choice, high, low),
}


def values(block, wanted, given):
    """What these wires carry, by name, in each case.

    Args:
        block: of PyRTL.
        wanted: wires.
        given: unsigned integers for wires, by name, at which a path back ends; other registers are 0.
    """
    sources, _ = block.net_connections()
    known = dict(given)
    return {wire.name: _value(wire, sources, known) for wire in wanted}


def _value(wire, sources, known):
    if wire.name not in known:
        known[wire.name] = _computed(wire, sources, known)
    return known[wire.name]


def _computed(wire, sources, known):
    if type(wire).__name__ == "Const":
        return np.uint64(wire.val)
    net = sources[wire]
    if net.op == "r":
        return np.uint64(0)
    arguments = [_value(argument, sources, known) for argument in net.args]
    if net.op == "s":
        bits = [
            (arguments[0] >> np.uint64(bit) & np.uint64(1)) << np.uint64(i)
            for i, bit in enumerate(net.op_param)
        ]
        return sum(bits[1:], start=bits[0])
    if net.op == "c":  # the first has the highest bits
        total = np.uint64(0)
        for argument, value in zip(net.args, arguments, strict=True):
            total = total << np.uint64(len(argument)) | value
        return total
    if net.op == "~":
        return ~arguments[0] & np.uint64((1 << len(wire)) - 1)
    return OPERATIONS[net.op](*arguments)
