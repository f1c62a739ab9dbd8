"""Evaluates combinational logic of PyRTL for many operands at once, as arrays of numpy; of up to 62 bits."""

from collections.abc import Callable, Mapping

import numpy as np
import pyrtl

Words = np.ndarray  # of int64, not negative
_BINARY: Mapping[str, Callable[[Words, Words], Words]] = {
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "n": lambda one, other: ~(one & other),
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "<": lambda one, other: (one < other).astype(np.int64),
    ">": lambda one, other: (one > other).astype(np.int64),
    "=": lambda one, other: (one == other).astype(np.int64),
}


def evaluate(block: pyrtl.Block, inputs: Mapping[str, Words]) -> dict[str, Words]:
    """Return the words at every output of a block without registers and memories.

    Args:
        block: the logic, no wire of which has more than 62 bits.
        inputs: words of one length, by the name of the input.

    Raises:
        ValueError: a net is no combinational logic, or a wire is too wide.
    """
    words: dict[pyrtl.WireVector, Words] = {}
    for wire in block.wirevector_set:
        if len(wire) > 62:
            raise ValueError(f"{wire.name} has {len(wire)} bits")
        if isinstance(wire, pyrtl.Const):
            words[wire] = np.int64(wire.val)
        elif isinstance(wire, pyrtl.Input):
            words[wire] = np.asarray(inputs[wire.name], np.int64)
    for net in block:  # in the order of their dependences
        (target,) = net.dests
        words[target] = _computed(net, [words[wire] for wire in net.args]) & ((1 << len(target)) - 1)
    return {wire.name: words[wire] for wire in block.wirevector_subset(pyrtl.Output)}


def _computed(net: pyrtl.LogicNet, words: list[Words]) -> Words:
    if net.op in _BINARY:
        return _BINARY[net.op](*words)
    match net.op:
        case "w":
            return words[0]
        case "~":
            return ~words[0]
        case "x":
            return np.where(words[0] != 0, words[2], words[1])
        case "s":
            return sum((words[0] >> bit & 1) << place for place, bit in enumerate(net.op_param))
        case "c":
            joined = np.int64(0)
            for word, wire in zip(words, net.args, strict=True):
                joined = joined << len(wire) | word
            return joined
    raise ValueError(f"{net} is no combinational logic")
