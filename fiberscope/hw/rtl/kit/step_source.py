"""Generator of Python source for one clock cycle of a PyRTL block: a fast function with few assignments.

The expression of a wire with a single reader is inlined, so that a multiplexer evaluates only the selected
side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import pyrtl

from fiberscope.hw.rtl.kit.twin import Signal
from fiberscope.hw.rtl.kit.words import Piece

_DEEPEST, _LONGEST = 12, 400  # limits of an inlined expression: nesting depth, and characters
# Bits of the Python result by operation, where they may exceed the bits of the wire. Results are then masked.
_MAKES_MORE_BITS = {
    "+": lambda net: len(net.args[0]) + 1,
    "*": lambda net: len(net.args[0]) + len(net.args[1]),
    "-": lambda net: len(net.dests[0]) + 1,  # always masked, as the result may be negative
    "m": lambda net: len(net.dests[0]) + 1,  # always masked, as initial contents may be wider
    "w": lambda net: len(net.args[0]),
    "&": lambda net: len(net.args[0]),
    "|": lambda net: len(net.args[0]),
    "^": lambda net: len(net.args[0]),
    "x": lambda net: len(net.args[1]),
    "c": lambda net: sum(map(len, net.args)),
}


@dataclass(frozen=True)
class _Text:
    """A Python expression, and the number of nested operations in it: 0 for a name or a number."""

    code: str
    depth: int = 0


class StepSource:
    """The Python source ``code`` of a function ``step(inputs, registers, driven)`` that runs one clock cycle.

    ``inputs`` are the words of the module's inputs, ``registers`` the values of all registers in the given
    order, ``driven`` the other inputs by name. The function returns the next values of the registers, the
    words of the outputs, the values of the wires ``seen``, and the writes to memories: dictionary, address
    and value of each. The caller executes the writes after the cycle.

    Args:
        block: a checked block.
        registers: all registers of the block.
        inputs: the piece of an input in each word.
        outputs: the piece of an output in each word.
        seen: names of other wires to return.

    Raises:
        PyrtlError: a wire depends on itself within a cycle.
    """

    def __init__(
        self,
        block: pyrtl.Block,
        registers: Sequence[Signal],
        inputs: Sequence[Piece],
        outputs: Sequence[Piece],
        seen: Sequence[str],
    ) -> None:
        self._sources = {id(net.dests[0]): net for net in block.logic if net.op not in "r@"}
        self._next = {id(net.dests[0]): net.args[0] for net in block.logic if net.op == "r"}
        self._registers, self._inputs = registers, inputs
        self._texts = {id(wire): _Text(f"r{i}") for i, wire in enumerate(registers)}
        self._open: set[int] = set()
        self._lines: list[str] = []
        self.memories: dict[str, pyrtl.MemBlock] = {}  # by their names in the source
        self.code = self._generate(block, outputs, seen)

    def _generate(self, block: pyrtl.Block, outputs: Sequence[Piece], seen: Sequence[str]) -> str:
        """Return the source of ``step``: assignments, writes to memories, and the returned tuple."""
        wires = block.wirevector_by_name
        shown = [(wires[piece.wire], piece) for piece in outputs]
        self._reads = Counter(id(wire) for wire, _piece in shown)
        self._reads.update(id(wires[name]) for name in seen)
        for net in block.logic:
            # A selection repeats the expression of its argument for each run of bits.
            again = len(_runs(net.op_param)) if net.op == "s" else 1
            for argument in net.args:
                self._reads[id(argument)] += again
        # Writes are returned, not executed, so that all reads of the cycle see the old contents.
        for net in block.logic_subset("@"):
            address, value, enable = map(self._text, net.args)
            write = f"({self._memory(net)}, {address}, {value})"
            self._lines.append(f"if {enable}: writes.append({write})")
        following = "".join(f"{self._text(self._next[id(wire)])}, " for wire in self._registers)
        words = "".join(f"{_part(self._text(wire), len(wire), piece)}, " for wire, piece in shown)
        others = "".join(f"{self._text(wires[name])}, " for name in seen)
        held = "".join(f"r{i}, " for i in range(len(self._registers)))
        head = [f"{held}= registers"] * bool(held) + ["writes = []"]
        body = "\n    ".join([*head, *self._lines, f"return ({following}), ({words}), ({others}), writes"])
        return f"def step(inputs, registers, driven):\n    {body}\n"

    def _text(self, wire: Signal) -> str:
        """Return the expression of a wire, after assignments of the wires that it reads.

        Raises:
            PyrtlError: the wire depends on itself.
        """
        stack = [wire]  # depth first without recursion, as logic may be deeper than Python's stack
        while stack:
            top = stack[-1]
            net = self._sources.get(id(top))
            lacking = [wire for wire in net.args if id(wire) not in self._texts] if net else []
            if id(top) in self._texts:
                stack.pop()
            elif not lacking:
                self._texts[id(top)] = (
                    self._inline_or_assign(top, self._expression(net)) if net else self._leaf(top)
                )
                stack.pop()
            elif id(top) in self._open:
                raise pyrtl.PyrtlError(f"{top.name} depends on itself within a cycle")
            else:
                self._open.add(id(top))
                stack += lacking
        return self._texts[id(wire)].code

    def _leaf(self, wire: Signal) -> _Text:
        """Return a number, or the name of an input: assembled from its words, else taken from ``driven``."""
        if isinstance(wire, pyrtl.Const):
            return _Text(str(int(wire.val)))
        places = [(i, piece.low) for i, piece in enumerate(self._inputs) if piece.wire == wire.name]
        code = " | ".join(f"inputs[{i}] << {low}" if low else f"inputs[{i}]" for i, low in places)
        return self._assign(code or f"driven[{wire.name!r}]")

    def _inline_or_assign(self, wire: Signal, text: _Text) -> _Text:
        """Return the expression if it is short and read once, else a name assigned to it."""
        if not text.depth:
            return text
        if self._reads[id(wire)] > 1 or text.depth > _DEEPEST or len(text.code) > _LONGEST:
            return self._assign(text.code)
        return _Text(f"({text.code})", text.depth)

    def _assign(self, code: str) -> _Text:
        name = f"v{len(self._lines)}"
        self._lines.append(f"{name} = {code}")
        return _Text(name)

    def _expression(self, net: pyrtl.LogicNet) -> _Text:
        """Return the result of a net, truncated to the bits of its wire."""
        texts = [self._texts[id(wire)] for wire in net.args]
        bits = len(net.dests[0])
        code = self._operation(net, [text.code for text in texts], (1 << bits) - 1)
        is_cut = net.op in _MAKES_MORE_BITS and _MAKES_MORE_BITS[net.op](net) > bits
        if is_cut:
            code = f"({code}) & {(1 << bits) - 1}"
        if code in {text.code for text in texts}:  # the same value under another name
            return next(text for text in texts if text.code == code)
        return _Text(code, 1 + max(text.depth for text in texts))

    def _operation(self, net: pyrtl.LogicNet, codes: Sequence[str], mask: int) -> str:
        """Return the expression of a net from the expressions of its arguments.

        The operations are PyRTL's: ``w`` wire, ``n`` nand, ``x`` multiplexer, ``c`` concatenation, ``s``
        selection of bits, ``m`` read of a memory.
        """
        match net.op:
            case "w":
                return codes[0]
            case "~":
                return f"{codes[0]} ^ {mask}"
            case "n":
                return f"{codes[0]} & {codes[1]} ^ {mask}"
            case "x":
                return f"{codes[2]} if {codes[0]} else {codes[1]}"
            case "c":
                return _concatenate(net.args, codes)
            case "s":
                return _select(net, codes[0])
            case "m":
                read = "_get_read_data({})" if isinstance(net.op_param[1], pyrtl.RomBlock) else "get({}, 0)"
                return f"{self._memory(net)}.{read.format(codes[0])}"
        return f"{codes[0]} {'==' if net.op == '=' else net.op} {codes[1]}"

    def _memory(self, net: pyrtl.LogicNet) -> str:
        """Return the name of a net's memory in the source, and record the memory."""
        memory = net.op_param[1]
        name = f"m{memory.id}"
        self.memories[name] = memory
        return name


def _concatenate(wires: Sequence[Signal], codes: Sequence[str]) -> str:
    """Return the concatenation of wires, the first highest."""
    parts, low = [], 0
    for wire, code in zip(reversed(wires), reversed(codes), strict=True):
        if code != "0":
            parts.append(f"{code} << {low}" if low else code)
        low += len(wire)
    return " | ".join(parts) or "0"


def _select(net: pyrtl.LogicNet, code: str) -> str:
    """Return the concatenation of selected bits of a wire, the first lowest."""
    parts, low, width = [], 0, len(net.args[0])
    for first, count in _runs(net.op_param):
        shifted = f"{code} >> {first}" if first else code
        part = f"{shifted} & {(1 << count) - 1}" if first + count < width else shifted
        parts.append(f"({part}) << {low}" if low else part)
        low += count
    return " | ".join(parts)


def _runs(bits: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive bits: the first bit and the length of each."""
    numbered = groupby(enumerate(bits), key=lambda pair: pair[1] - pair[0])
    return [(run[0][1], len(run)) for run in (list(pairs) for _, pairs in numbered)]


def _part(code: str, width: int, piece: Piece) -> str:
    """Return the bits of a piece of a wire."""
    if piece.width == width:
        return code
    return f"{code} >> {piece.low} & {(1 << piece.width) - 1}"
