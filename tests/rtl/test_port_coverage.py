"""Events at the ports of a module, cycle by cycle."""

from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.port_coverage import PortCoverage
from fiberscope.hw.rtl.kit.words import Words

INTERFACE = Interface(
    "unit",
    (
        Stream("in", "in", "input", {"control": 2}),
        Stream("out", "out", "output", {"control": 3, "coordinate": 4}),
    ),
)


def test_each_kind_of_event_is_counted_once():
    words = Words(INTERFACE)
    coverage = PortCoverage(INTERFACE, words)
    zeros = dict.fromkeys((wire.name for wire in INTERFACE.wires()), 0)
    offered, taken = {"in_valid": 1, "in_control": 2}, {"in_valid": 1, "in_ready": 1}
    sends, waits = {"out_valid": 1, "out_ready": 1}, {"out_valid": 1}
    cycles = [offered, offered, taken, taken, {}, taken, offered, {}, offered | sends, sends, waits, sends]
    for cycle, wires in enumerate(cycles):
        words.drive(zeros | wires)
        words.show(zeros | wires)
        coverage.cycle(cycle)
    assert coverage.bins == {
        "in": {
            "tokens": 3,
            "back to back": 1,
            "waits": 3,
            "control=0": 3,
            "control=1": 0,
            "control=2": 0,
            "control=3": 0,
        },
        "out": {"tokens": 3, "back to back": 1, "waits": 1},
    }
