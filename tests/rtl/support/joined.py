"""Compositions that are no blocks of the catalogue but are tried as such, by name: a pair for a seed."""

from channel_scenario import PassOn
from dot_pair import dot_pair
from pairs import Pair
from scenarios import SCENARIOS

from fiberscope.hw.fibers import intersect_rtl as intersector
from fiberscope.hw.fibers.intersect_rtl import SkipAheadParameters
from fiberscope.hw.rtl.kit import channel
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.channel import PendingAdapter, carrying
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, flat
from fiberscope.sim import Component, Kernel

GIVEN = SkipAheadParameters(8, 8, 32, window=8)
SLOTS = 3
PORTS = ("a", "b", "matches_a", "matches_b", "skips_a", "skips_b")


def skipping() -> Composition:
    """An intersector whose matches of a leave through a channel, and what it shows of itself."""
    part = Part(intersector.SKIP_AHEAD, GIVEN)
    matches = next(stream for stream in part.interface.streams if stream.label == "matches_a")
    exports = {port: f"intersector.{port}" for port in PORTS}
    return Composition(
        "skipping",
        {"intersector": part, "queue": Part(channel.OF_STREAM, carrying(matches, SLOTS))},
        (Link("intersector.matches_a", "queue.in", capacity=0),),
        exports | {"matches_a": "queue.out"},
        {"dropped": "intersector.dropped", "steps": "intersector.step"},
    )


class SkippingAdapter(PendingAdapter):
    """Counts what the part shows."""

    PORTS = intersector.SKIP_AHEAD.adapter.PORTS
    RETRACTS = intersector.SKIP_AHEAD.adapter.RETRACTS
    FIBERS_OF = intersector.SKIP_AHEAD.adapter.FIBERS_OF

    def observe(self, moved: object) -> None:
        self.counted = getattr(self, "counted", {"intersect": 0, "dropped": 0})
        self.counted["intersect"] += self.status["steps"]
        self.counted["dropped"] += self.status["dropped"]

    def counters(self) -> dict[str, int]:
        return getattr(self, "counted", {})


def skipping_pair(seed: int) -> Pair:
    """The component with a channel and a wire behind it, and the module."""
    composition, scenario = skipping(), SCENARIOS["skip_ahead"]
    interface = composition.interface()
    twin = build(interface, lambda between: flat(composition, between))

    def composed(kernel: Kernel, scope: str) -> dict[str, tuple[Component, str]]:
        block = kernel.add(scenario.component(f"{scope}.intersector", GIVEN))
        wire = kernel.add(PassOn(f"{scope}.wire"))
        kernel.connect(block, "matches_a", wire, "in", capacity=SLOTS)
        return {port: (block, port) for port in PORTS} | {"matches_a": (wire, "out")}

    return Pair(
        "skipping",
        lambda name: scenario.component(name, GIVEN),
        lambda name: SkippingAdapter(name, interface, PyrtlBackend(twin, seed)),
        scenario.pair(seed, GIVEN).inputs,
        PORTS[2:],
        seed,
        composed=composed,
    )


JOINED = {"dot": dot_pair, "skipping": skipping_pair}
