"""The bank's twin: Gamma's size, twins broken on purpose, division by constants, and what is refused."""

import random
from dataclasses import replace

import pyrtl
import pytest
from memory_stub import MemoryStub
from pairs import check_pair
from scenarios import SCENARIOS

from hw.cache import FiberCacheSpecification
from hw.rtl.bank import BLOCK, BankParameters, interface
from hw.rtl.bank_logic import design
from hw.rtl.kit.backend import PyrtlBackend
from hw.rtl.kit.reciprocal import quotient, remainder
from hw.rtl.kit.twin import Streams, build
from hw.rtl.misses import FreeList
from hw.rtl.tags import Tags
from sim import Kernel, SimulationError
from sim.testing import StreamSink, StreamSource

SCENARIO = SCENARIOS["bank"]
SEEDS = range(20)


def test_a_bank_of_gamma():
    assert check_pair(SCENARIO.pair(1, BankParameters())) > 300


def check_seeds(make):
    """Hold the twins that ``make`` makes for some parameters against the component, for all seeds."""
    for seed in SEEDS:
        parameters = SCENARIO.drawn(seed)
        twin = build(interface(parameters), make(parameters))
        check_pair(SCENARIO.pair(seed, parameters, lambda twin=twin: PyrtlBackend(twin)))


def designed(parameters):
    return lambda between: design(parameters, between)


@pytest.mark.parametrize(
    "changes",
    [
        {"priority_limit": 0},  # no priority
        {"priority_limit": 1000},  # one that saturates late
        {"reuse_limit": 1},
        {"banks": 1},
        {"misses": 6},
        {"targets": 8},
    ],
    ids=str,
)
def test_planted_a_twin_of_another_size_is_found(changes, tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    with pytest.raises(AssertionError, match=r"(?s)bank, seed \d+: .* differs: "):
        check_seeds(lambda parameters: designed(replace(parameters, **changes)))


@pytest.mark.parametrize(
    ("field", "never"),
    [("write", "written back"), ("drop", "dropped"), ("fetch", "wanted more"), ("read", "wanted less")],
)
def test_planted_a_twin_whose_lines_are_never_changed_so_is_found(field, never, tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    update = Tags.update

    def forgetful(self, changes):
        update(self, replace(changes, **{field: pyrtl.Const(0, 1)}))

    monkeypatch.setattr(Tags, "update", forgetful)
    with pytest.raises(AssertionError, match=r"(?s)bank, seed \d+: "):
        check_seeds(designed)


def test_planted_a_twin_that_does_not_age_its_lines_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    monkeypatch.setattr(Tags, "_aged", lambda _tags, way, _ages: way.reuse)
    with pytest.raises(AssertionError, match=r"bank, seed \d+: .* differs"):
        check_seeds(designed)


def test_planted_a_twin_that_takes_nothing_back_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    update = FreeList.update
    monkeypatch.setattr(
        FreeList, "update", lambda free, take, _give, given: update(free, take, pyrtl.Const(0, 1), given)
    )
    with pytest.raises(AssertionError, match=r"(?s)bank, seed \d+: "):
        check_seeds(designed)


def test_planted_a_twin_that_does_not_say_why_it_waits_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    show = Streams.show

    def silent(self, name, condition):
        show(self, name, pyrtl.Const(0, 1) if name == "stalled_on_memory" else condition)

    monkeypatch.setattr(Streams, "show", silent)
    with pytest.raises(AssertionError, match=r"bank, seed \d+: block differs: .*output_stall"):
        check_seeds(designed)


def test_planted_a_twin_with_a_cycle_too_many_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)

    def late(parameters):
        def delayed(between):
            requests = between.inputs["requests"]
            seen = pyrtl.Register(1)
            seen.next <<= requests.valid
            requests.valid = requests.valid & seen
            design(parameters, between)

        return delayed

    with pytest.raises(AssertionError, match=r"(?s)bank, seed \d+: .*(differs|though nothing at its ports)"):
        check_seeds(late)


def divided(bits, divisor, numbers):
    """Quotient and remainder of numbers of so many bits, as the hardware has them."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block):
        number = pyrtl.Input(bits, "number")
        for name, wire in (("q", quotient(number, divisor)), ("r", remainder(number, divisor))):
            output = pyrtl.Output(len(wire), name)
            output <<= wire
        simulation = pyrtl.FastSimulation(tracer=None)
        for number in numbers:
            simulation.step({"number": number})
            yield simulation.inspect("q"), simulation.inspect("r")


@pytest.mark.parametrize("divisor", [1, 2, 3, 5, 6, 7, 12, 31, 32, 33, 48, 63, 64, 65, 200])
def test_division_by_a_constant_is_exact_for_every_small_number(divisor):
    numbers = range(64)
    assert list(divided(6, divisor, numbers)) == [divmod(number, divisor) for number in numbers]


@pytest.mark.parametrize("divisor", [3, 7, 12, 47, 48, 1023, 4095, 4096])
@pytest.mark.parametrize("bits", [41, 57, 63])
def test_division_by_a_constant_is_exact_for_large_numbers(bits, divisor):
    generator = random.Random(divisor)
    top = (1 << bits) - 1
    multiples = [generator.randrange(1 + top // divisor) * divisor for _ in range(50)] + [
        top // divisor * divisor
    ]
    numbers = [top, *multiples, *(multiple - 1 for multiple in multiples if multiple)]
    assert list(divided(bits, divisor, numbers)) == [divmod(number, divisor) for number in numbers]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"line_bytes": 48}, "bank: line_bytes must be a power of two, not 48"),
        ({"sets": 0}, "bank: sets must be from 1 to 1024, not 0"),
        ({"port": 4, "tag_bits": 34}, "bank: port must be from 0 to 3, not 4"),
    ],
)
def test_what_cannot_be_built_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        BankParameters(**changes)


def test_the_parameters_that_suit_a_component():
    specification = FiberCacheSpecification(banks=48, sets=64, ways=16, priority_limit=31)
    assert BLOCK.matching(specification, 7) == BankParameters(port=7)


def test_a_channel_to_memory_without_room_for_a_read_and_a_write_back_is_refused():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    bank = kernel.add(SCENARIO.pair(1).rtl("bank"))
    source, sink = kernel.add(StreamSource("source", [])), kernel.add(StreamSink("sink"))
    memory = kernel.add(MemoryStub("memory", (1,)))
    for ends in (
        (source, "out", bank, "requests"),
        (bank, "replies", sink, "in"),
        (bank, "memory_requests", memory, "requests"),
        (memory, "replies", bank, "memory_replies"),
    ):
        kernel.connect(*ends, capacity=1)
    message = r"memory\.requests: a capacity of 1 is too small for bank, which sends 2 tokens in one cycle"
    with pytest.raises(SimulationError, match=message):
        kernel.run()
