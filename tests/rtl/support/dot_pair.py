"""The example with a foreign multiplier: the module, and a component that does the same by the model."""

import random
import sys
from collections.abc import Callable
from pathlib import Path

from fiber_streams import STOP_TOKEN
from pairs import Pair

from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.stream import STREAM
from fiberscope.sim import Component, Input, Output
from fiberscope.sim.testing import Token, head

sys.path.append(str(Path(__file__).parents[3] / "examples"))
from foreign_multiplier import DOT, Multiplier, compose

FIBERS = 25
GIVEN = Parameters()


class DotComponent(Component):
    """Two fingers that give what they have in common to the model of the multiplier, in the same cycle."""

    PORTS = (Input("a", STREAM), Input("b", STREAM), Output("products", STREAM))

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.model = Multiplier()

    def tick(self, now: int) -> int:
        outputs = self.model.outputs()
        moved = self._compare(outputs["a_ready"] and outputs["b_ready"])
        sink = self.channel("products")
        ready = sink.can_push()
        if outputs["products_valid"] and ready:
            number = outputs["products_reference"]
            product = number - (number >> 31 << 32)
            sink.push(outputs["products_control"], outputs["products_coordinate"], product, 0.0)
        self.model.clock({**outputs, **moved, "products_ready": ready})
        if self.model.products or self.model.multiplies() or outputs["products_valid"]:
            return self.busy(now + 1)
        return self.busy(now + 1) if moved["took"] else self.idle()

    def _compare(self, ready: int) -> dict[str, int]:
        sides = self.channel("a"), self.channel("b")
        moved = {"a_valid": 0, "b_valid": 0, "took": 0}
        if not all(side.can_pop() for side in sides):
            return moved
        orders = [(side.control(), 0 if side.control() else side.coordinate()) for side in sides]
        if orders[0] == orders[1] and ready:
            for name, side in zip("ab", sides, strict=True):
                control, coordinate, reference, _value = head(side)
                moved[f"{name}_valid"] = 1
                moved[f"{name}_control"] = control
                moved[f"{name}_coordinate"] = 0 if control else coordinate
                moved[f"{name}_reference"] = 0 if control else reference & 0xFFFF
                side.pop()
            moved["took"] = 1
        elif orders[0] != orders[1]:
            sides[orders[1] < orders[0]].pop()
            moved["took"] = 1
        return moved


def fibers(seed: int) -> dict[str, list[Token]]:
    draw = random.Random(seed)
    inputs: dict[str, list[Token]] = {"a": [], "b": []}
    for _ in range(FIBERS):
        for tokens in inputs.values():
            coordinates = sorted(draw.sample(range(12), draw.randrange(12)))
            tokens += [(0, c, draw.randrange(-(1 << 15), 1 << 15), 0.5) for c in coordinates]
            tokens.append(STOP_TOKEN)
    return inputs


def dot_pair(seed: int, backend: Callable[[], Backend] | None = None) -> Pair:
    """Component and module for a seed; the module by PyRTL and the model if no backend is given."""
    interface = compose(GIVEN).interface()
    make = backend or (lambda: PyrtlBackend(DOT.twin(GIVEN), seed))

    def composed(kernel, scope):
        block = kernel.add(DotComponent(f"{scope}.block"))
        return {port.name: (block, port.name) for port in block.PORTS}

    return Pair(
        "dot",
        DotComponent,
        lambda name: DOT.adapter(name, interface, make()),
        fibers(seed),
        ("products",),
        seed,
        composed=composed,
    )
