"""RTL of the intersector of bit masks, ``fiberscope.hw.fibers.intersection.MaskIntersector``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.fibers.intersection import RULES, SKIP, MaskIntersector
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number
from fiberscope.hw.rtl.kit.twin import InputStream, Signal, Streams, alias, index_bits
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, Summed, rows, tokens, unit
from fiberscope.hw.stream import MET

WORDS = (1, 32)  # range of ``words``; larger masks are not tested as RTL


@dataclass(frozen=True)
class MaskIntersectorParameters(Parameters):
    """Parameters of an intersector of masks.

    Args:
        words: number of words of a mask, 1 to 32.
        width: width of a word in bits, 1 to 62.
        rule: ``"skip"`` or ``"two_finger"``, see ``MaskIntersector``.
    """

    words: int = number(4, *WORDS)
    width: int = number(32, 1, MAXIMUM_WIDTH)
    rule: str = choice(SKIP, RULES)

    @property
    def bits(self) -> int:
        """Return the number of bits of a mask."""
        return self.words * self.width


def port_contents(parameters: MaskIntersectorParameters) -> PortContents:
    """Return the fields of each port: masks in lanes, and for each step its coordinate and two flags.

    The control of a result has the flag ``MET`` above the flag of the last step of a pair of masks.
    """
    masks = Lanes({"coordinate": parameters.width}, parameters.words)
    result = {"control": 2, "coordinate": index_bits(parameters.bits)}
    return {"masks_a": masks, "masks_b": masks, "results": result}


class _Side:
    """The remaining bits of a mask and its head, the lowest remaining bit.

    ``left`` has the remaining bits, and ``head`` only the lowest of them. ``below`` has all positions below
    the head, and ``up_to`` these and the head. Without remaining bits, ``below`` and ``up_to`` have all bits.

    Args:
        name: ``"a"`` or ``"b"``.
        source: stream of the masks.
        done: positions that earlier steps have finished.
    """

    def __init__(self, name: str, source: InputStream, done: Signal) -> None:
        # Word 0 is lowest, so that bit i of word w has the position w * width + i, the coordinate.
        mask = pyrtl.concat_list([lane["coordinate"] for lane in source.lanes])
        self.left = alias(f"left_{name}", mask & ~done)
        self.below = alias(f"below_{name}", _clear_up_to(self.left))
        # ``below`` moved up by one position also includes the head.
        self.up_to = alias(f"up_to_{name}", pyrtl.concat(self.below, pyrtl.Const(1, 1))[: len(done)])
        self.head = self.up_to & self.left


def _clear_up_to(word: Signal) -> Signal:
    """Return for each bit whether it and all lower bits are 0, by a prefix AND at doubling distances."""
    clear, distance = ~word, 1
    # Bit i of ``clear`` covers ``distance`` bits down from i. Positions below 0 count as clear.
    while distance < len(word):
        below = pyrtl.concat(clear[:-distance], pyrtl.Const((1 << distance) - 1, distance))
        clear, distance = clear & below, 2 * distance
    return clear


def design(parameters: MaskIntersectorParameters, streams: Streams) -> None:
    """Build the intersector: a register ``done`` with the finished coordinates, all up to some position.

    A step finishes the positions up to the lower of the two heads. With the rule ``skip``, it also finishes
    all positions below the higher head.
    """
    sources, results = (streams.inputs["masks_a"], streams.inputs["masks_b"]), streams.outputs["results"]
    done: Signal = pyrtl.Register(parameters.bits, "done")
    a, b = (_Side(name, source, done) for name, source in zip("ab", sources, strict=True))
    # The ``below`` of the higher head contains the other; their OR therefore ends at the higher head.
    leapt = a.below | b.below if parameters.rule == SKIP else pyrtl.Const(0, len(done))
    passed = alias("passed", (a.up_to & b.up_to) | leapt)
    met = alias("met", a.head & b.head)
    # An empty mask ends the pair, as in ``FiberIntersection.has_ended``; the rest of the other is unread.
    last = alias("last", ((a.left & ~passed) == 0) | ((b.left & ~passed) == 0))
    shown = alias("both_shown", sources[0].valid & sources[1].valid)
    step = alias("step", shown & results.ready)
    done.next <<= pyrtl.select(step, pyrtl.select(last, pyrtl.Const(0, len(done)), passed), done)
    # The masks stay at the inputs until their last step, so that no register has to hold them.
    for source in sources:
        source.accept(step & last)
    results.send(shown, {"control": pyrtl.concat(met != 0, last), "coordinate": _place(met)})


def _place(flag: Signal) -> Signal:
    """Return the position of the only set bit; 0 if no bit is set.

    Bit b of the position is the OR of the flags at all positions that have bit b.
    """
    numbers = range(len(flag))
    with_bit = [
        sum(1 << position for position in numbers if position >> bit & 1)
        for bit in range(index_bits(len(flag)))
    ]
    return pyrtl.concat_list([(flag & places) != 0 for places in with_bit])


def _met(step: Token) -> int:
    return int(bool(step.control & MET))


BLOCK = unit(
    "intersector",
    MaskIntersector,
    MaskIntersectorParameters,
    port_contents,
    design,
    arguments=("words", "width", "rule"),
    counters={"intersect": tokens("results"), "matches": Summed("results", _met), "fibers": rows("masks_a")},
    events=("intersect",),
)
