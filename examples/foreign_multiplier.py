"""A multiplier in Verilog, docs/multiplier.v, behind an intersector of Fiberscope's, as one module.

    python examples/foreign_multiplier.py build/

writes dot.v, the multiplier's file and dot.core.
"""

import sys
from collections import deque
from pathlib import Path

from fiberscope.hw.fibers.intersect_rtl import TWO_FINGER, TwoFingerParameters
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.core_file import write_files
from fiberscope.hw.rtl.kit.foreign import foreign
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, composed
from fiberscope.hw.stream import STREAM
from fiberscope.sim import Input, Output

ELEMENT = {"control": 1, "coordinate": 32, "reference": 16, "value": 32}
PRODUCT = {"control": 1, "coordinate": 32, "reference": 32}
PORTS = Interface(
    "multiplier",
    (
        Stream("a", "a", "input", ELEMENT),
        Stream("b", "b", "input", ELEMENT),
        Stream("products", "products", "output", PRODUCT),
    ),
    ("pending",),
)


class Multiplier:
    """What the Verilog does, cycle by cycle: a slot a side, and two behind the product."""

    def __init__(self):
        self.a = self.b = None
        self.products: deque[tuple[int, int, int]] = deque()

    def outputs(self):
        ready = self.multiplies()
        control, coordinate, product = self.products[0] if self.products else (0, 0, 0)
        return {
            "a_ready": int(self.a is None or ready),
            "b_ready": int(self.b is None or ready),
            "products_valid": int(bool(self.products)),
            "products_control": control,
            "products_coordinate": coordinate,
            "products_reference": product & 0xFFFF_FFFF,
            "pending": int((self.a is not None and self.b is not None) or bool(self.products)),
        }

    def multiplies(self):
        return self.a is not None and self.b is not None and len(self.products) < 2

    def clock(self, wires):
        multiplies = self.multiplies()
        if wires["products_valid"] and wires["products_ready"]:
            self.products.popleft()
        if multiplies:
            control, coordinate, number = self.a
            self.products.append((control, coordinate, number * self.b))
            self.a = self.b = None
        if wires["a_valid"] and wires["a_ready"]:
            self.a = wires["a_control"], wires["a_coordinate"], signed(wires["a_reference"])
        if wires["b_valid"] and wires["b_ready"]:
            self.b = signed(wires["b_reference"])


def signed(bits):
    return (bits ^ 0x8000) - 0x8000


MULTIPLIER = foreign(Path(__file__).parents[1] / "docs" / "multiplier.v", PORTS, Multiplier)


def compose(_parameters):
    """Both sides of a match go to the multiplier, by wires."""
    intersector = Part(TWO_FINGER, TwoFingerParameters(reference_bits=16, value_bits=32))
    return Composition(
        "dot",
        {"intersector": intersector, "multiplier": Part(MULTIPLIER, Parameters())},
        tuple(Link(f"intersector.matches_{side}", f"multiplier.{side}", capacity=0) for side in "ab"),
        {"a": "intersector.a", "b": "intersector.b", "products": "multiplier.products"},
    )


class Dot(Adapter):
    """The module in a machine: the products of two fibers."""

    PORTS = (Input("a", STREAM), Input("b", STREAM), Output("products", STREAM))
    FIBERS = True


DOT = composed("dot", "multiplies what two fibers have in common", Parameters, compose, Dot)

if __name__ == "__main__":
    for path in write_files(DOT, Parameters(), Path(sys.argv[1]), "1.0.0"):
        print(path)
