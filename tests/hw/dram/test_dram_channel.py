"""The channel in the engine: laws of the kernel, replies, forwarding, refresh, bandwidth, tight timing."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_sink import SlowSink

from fiberscope.hw.dram import DramChannel, DramSpecification, replay, standard
from fiberscope.hw.dram.trace import ReplySink, Request, TraceSource
from fiberscope.hw.memory.protocol import CONSUME, READ, TENSOR_SHIFT, WRITE, WRITE_THROUGH
from fiberscope.sim import DeadlockError, Kernel, SimulationError

PLAIN = DramSpecification(refresh="off", request_bytes=32, interleave_bytes=32)
ROW = 1 << 15  # bytes from a row to the next of the same bank, RoBaRaCoCh, HBM2
GROUP = 1 << 11  # bytes to the next bank group
BANK = 1 << 13
MIXED = [(place * 3, WRITE if place % 3 == 0 else READ, place * 7919 % 4096 * 64) for place in range(500)]


def run_slowly(
    trace: list[Request], specification: DramSpecification, pause: int, **options: object
) -> SlowSink:
    kernel = Kernel(**options)  # type: ignore[arg-type]  # sleep, order_seed
    core = kernel.clock("core", 10**9)
    memory = kernel.clock("memory", specification.clock_hertz)
    source = kernel.add(TraceSource("source", trace, 1), core)
    dram = kernel.add(DramChannel("dram", specification), memory)
    sink = kernel.add(SlowSink(pause), core)
    kernel.connect(source, "requests", dram, "requests", capacity=2)
    kernel.connect(dram, "replies", sink, "replies", capacity=1)
    kernel.run()
    sink.statistics = kernel.statistics()["dram"]  # type: ignore[attr-defined]  # for the test to look at
    return sink


@pytest.mark.parametrize(
    ("name", "refresh"),
    [
        (name, refresh)
        for name in ("HBM2_2000", "HBM1_1000", "DDR4_2133")
        for refresh in ("all_bank", "per_bank", "per_bank_lookahead", "off")
        if not (name == "DDR4_2133" and refresh.startswith("per_bank"))
    ],
)
def test_sleeping_changes_nothing(name: str, refresh: str) -> None:
    specification = DramSpecification(standard=name, refresh=refresh)  # type: ignore[arg-type]
    trace = [*MIXED, (40_000, READ, 0), (40_001, READ, ROW)]
    asleep, awake = (replay(trace, specification, log=True, sleep=sleep) for sleep in (True, False))
    assert asleep.commands == awake.commands
    assert asleep.completions == awake.completions
    assert asleep.statistics == awake.statistics


@pytest.mark.parametrize("pause", [1, 9, 150])
def test_a_slow_reader_loses_nothing_and_sleeping_or_order_changes_nothing(pause: int) -> None:
    specification = DramSpecification(address_map="MOP4CLXOR")
    runs = [
        run_slowly(MIXED, specification, pause, **options)
        for options in ({}, {"sleep": False}, {"order_seed": 3})
    ]
    expected = sorted(place for place, request in enumerate(MIXED) if request[1] == READ)
    assert [sorted(run.tags) for run in runs] == [expected] * 3
    assert runs[0].tags == runs[1].tags == runs[2].tags
    assert runs[0].statistics == runs[1].statistics == runs[2].statistics  # type: ignore[attr-defined]


@pytest.mark.parametrize("refresh", ["all_bank", "per_bank", "off"])
def test_a_reader_that_takes_nothing_is_a_deadlock_though_refreshes_go_on(refresh: str) -> None:
    class Deaf(SlowSink):
        def tick(self, now: int) -> int:
            return self.idle()

    kernel = Kernel()
    core = kernel.clock("core", 10**9)
    specification = DramSpecification(refresh=refresh, request_bytes=32)  # type: ignore[arg-type]
    source = kernel.add(TraceSource("source", [(0, READ, place * 4096) for place in range(500)], 1), core)
    dram, deaf = kernel.add(DramChannel("dram", specification), core), kernel.add(Deaf(1), core)
    kernel.connect(source, "requests", dram, "requests", capacity=2)
    kernel.connect(dram, "replies", deaf, "replies", capacity=1)
    with pytest.raises(DeadlockError) as raised:
        kernel.run()
    waits = [line.partition(":")[0] for line in raised.value.blocked]
    assert "dram waits for space at replies" in waits


@given(
    lines=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([READ, WRITE]), st.integers(0, 40)), max_size=150
    ),
    scheduler=st.sampled_from(["frfcfs", "fcfs"]),
)
def test_every_read_is_answered_once_and_bytes_are_those_asked_for(
    lines: list[tuple[int, int, int]], scheduler: str
) -> None:
    trace, cycle = [], 0
    for pause, operation, line in lines:
        cycle += pause
        trace.append((cycle, operation, line * 64))
    result = replay(trace, DramSpecification(scheduler=scheduler))  # type: ignore[arg-type]
    reads = [place for place, request in enumerate(trace) if request[1] == READ]
    assert sorted(tag for tag, _cycle in result.completions) == reads
    counters = result.counters
    assert counters["read_bytes_0"] == 64 * len(reads)
    assert counters["write_bytes_0"] == 64 * (len(trace) - len(reads))
    served = counters["row_hits"] + counters["row_misses"] + counters["row_conflicts"]
    assert served + counters["forwarded"] + counters["coalesced"] == 2 * len(trace)
    assert counters["activates"] - counters["precharges"] <= standard("HBM2_2000").organisation.total_banks


@pytest.mark.parametrize(
    "name", ["HBM1_1000", "HBM1_2000", "HBM2_2000", "HBM2_2400", "HBM3_6400", "DDR4_2133"]
)
@pytest.mark.parametrize("cut", ["RoBaRaCoCh", "MOP4CLXOR", "RoBaCoBgCh", "RoCoBaBgCl"])
def test_bandwidth_is_never_above_the_peak_and_a_stream_comes_near_it(name: str, cut: str) -> None:
    specification = DramSpecification(standard=name, address_map=cut, refresh="off")
    result = replay([(0, READ, place * 64) for place in range(2000)], specification, 2)
    share = Fraction(result.bytes_per_second) / specification.bytes_per_second
    assert share <= 1
    assert share > ({"RoBaRaCoCh": 0.4, "MOP4CLXOR": 0.75}.get(cut, 0.85))  # the first waits for tCCD_L


def latency_of_last(trace: list[Request], specification: DramSpecification = PLAIN) -> int:
    result = replay(trace, specification)
    return dict(result.completions)[len(trace) - 1] - trace[-1][0]


def command_cycles(trace: list[Request], name: str) -> list[int]:
    return [command.cycle for command in replay(trace, PLAIN, log=True).commands if command.name == name]


@pytest.mark.parametrize(
    ("first", "second", "commands", "cycles"),
    [
        ((READ, 0), (READ, 1 << 10), ("RD", "RD"), None),  # another pseudo-channel: buses of their own
        ((READ, 0), (READ, 32), ("RD", "RD"), 4),  # tCCD_L
        ((READ, 0), (READ, GROUP), ("ACT", "ACT"), 4),  # tRRD_S
        ((READ, 0), (READ, BANK), ("ACT", "ACT"), 4),  # tRRD_L
        ((READ, 0), (READ, ROW), ("ACT", "PRE"), 34 + 1),  # tRAS
        ((READ, 0), (READ, ROW), ("ACT", "ACT"), 48),  # tRC, = tRAS + tRP
        ((WRITE, 0), (WRITE, ROW), ("WR", "PRE"), 5 + 2 + 16),  # tCWL + burst + tWR
        ((READ, 0), (READ, 64), ("ACT", "RD"), 14 + 1),  # tRCD of a read
        ((WRITE, 0), (WRITE, 64), ("ACT", "WR"), 12 + 1),  # tRCD of a write
    ],
)
def test_a_command_comes_in_the_first_cycle_in_which_it_may(
    first: tuple[int, int], second: tuple[int, int], commands: tuple[str, str], cycles: int | None
) -> None:
    trace = [(0, *first), (0, *second)]
    before, after = (command_cycles(trace, name) for name in commands)
    if cycles is None:
        assert after[-1] - before[0] == 2  # the row bus: the second ACT comes two clocks after the first
    elif commands[0] == commands[1]:
        assert after[1] - before[0] == cycles
    else:
        assert after[0] - before[0] == cycles


@pytest.mark.parametrize(
    ("first", "second", "address", "cycles"),
    [
        (READ, WRITE, 64, 14 + 2 + 2 - 5),  # tRTW
        (WRITE, READ, 64, 5 + 2 + 8),  # tWTR_L
        (WRITE, READ, GROUP, 5 + 2 + 6),  # tWTR_S
    ],
)
def test_turnarounds_are_tight(first: int, second: int, address: int, cycles: int) -> None:
    """Both rows are open; the second column command waits for nothing but the bus to turn."""
    names = {READ: "RD", WRITE: "WR"}
    trace = [(0, READ, 0), (0, READ, address), (500, first, 0), (501, second, address)]
    log = [command for command in replay(trace, PLAIN, log=True).commands if command.cycle > 400]
    assert [command.name for command in log] == [names[first], names[second]]
    assert log[1].cycle - log[0].cycle == cycles


def test_a_read_is_forwarded_from_the_write_queue_and_a_write_coalesced() -> None:
    reads = [(0, READ, place * GROUP) for place in range(8)]
    trace = [*reads, (1, WRITE, 512), (2, WRITE, 512), (3, READ, 512)]
    result = replay(trace, PLAIN)
    assert (result.counters["forwarded"], result.counters["coalesced"]) == (1, 1)
    assert result.counters["writes"] == 2
    assert len(result.completions) == 9


def test_an_idle_channel_sleeps_through_refreshes_and_then_has_made_them() -> None:
    trace = [(0, READ, 0), (100_000, READ, 0)]
    specification = DramSpecification(request_bytes=32, interleave_bytes=32)
    result = replay(trace, specification, log=True)
    refreshes = [command.cycle for command in result.commands if command.name == "REF"]
    interval = standard("HBM2_2000").timing.refi
    assert result.counters["refreshes"] == len(refreshes) == 2 * (100_000 // interval)
    assert refreshes[:2] == [
        interval + 14,
        interval + 15,
    ]  # PRE of all banks first; the other half was closed
    assert result.completions[1][1] - 100_000 == 32  # its row was closed by a refresh long before
    kernel = Kernel()
    kernel.clock("memory", specification.clock_hertz)
    source, sink = kernel.add(TraceSource("source", trace, 1)), kernel.add(ReplySink("sink", 2))
    dram = kernel.add(DramChannel("dram", specification))
    kernel.connect(source, "requests", dram, "requests", capacity=2)
    kernel.connect(dram, "replies", sink, "replies", capacity=2)
    kernel.run()
    assert kernel.ticks < 40


@pytest.mark.parametrize("name", ["HBM1_1000", "HBM2_2000", "HBM3_6400", "DDR4_2133"])
def test_refreshes_come_once_an_interval_and_nothing_is_issued_to_what_is_refreshed(name: str) -> None:
    """Under a load that never pauses: each before the next is due, and tRFC without another command."""
    device = standard(name)
    trace = [(0, WRITE if place % 3 == 0 else READ, place * 7919 % 65536 * 64) for place in range(8000)]
    commands = replay(trace, DramSpecification(standard=name), log=True).commands
    for pseudo in range(device.organisation.pseudo_channels):
        own = [command for command in commands if command.pseudo_channel == pseudo]
        refreshes = [place for place, command in enumerate(own) if command.name == "REF"]
        intervals = [own[place].cycle // device.timing.refi for place in refreshes]
        assert intervals == list(range(1, len(refreshes) + 1))
        assert len(refreshes) >= own[-1].cycle // device.timing.refi - 1 > 0
        for before, after in pairwise(refreshes):
            received = own[before + 1].cycle + device.activate_cycles - 1
            assert received - own[before].cycle >= device.timing.rfc
            assert after > before + 1


def test_a_request_of_several_bursts_is_answered_with_the_last() -> None:
    hit = [(0, READ, 0), (1000, READ, 64)]
    one, two = (
        DramSpecification(refresh="off", request_bytes=size, interleave_bytes=64) for size in (32, 64)
    )
    assert latency_of_last(hit, one) == 17
    assert latency_of_last(hit, two) == 17 + 4  # tCCD_L: both bursts are in one bank group


def test_tensors_share_banks_and_are_told_apart() -> None:
    trace = [
        (0, READ, 3 << TENSOR_SHIFT),
        (1000, READ, 5 << TENSOR_SHIFT),
        (2000, WRITE_THROUGH, 5 << TENSOR_SHIFT),
    ]
    counters = replay(trace, PLAIN).counters
    assert (counters["read_bytes_3"], counters["read_bytes_5"], counters["write_bytes_5"]) == (32, 32, 32)
    assert (counters["row_misses"], counters["row_conflicts"], counters["row_hits"]) == (1, 1, 1)


def test_an_activate_of_hbm3_takes_two_clocks() -> None:
    """Deviation 2: the standard has one and a half."""
    size = 32
    specification = DramSpecification("HBM3_6400", refresh="off", request_bytes=size, interleave_bytes=size)
    other = 1 << 10  # the other pseudo-channel: nothing but the row bus between the two
    commands = replay([(0, READ, 0), (0, READ, other)], specification, 2, log=True).commands
    activates = [command for command in commands if command.name == "ACT"]
    assert activates[0].pseudo_channel != activates[1].pseudo_channel
    assert activates[1].cycle - activates[0].cycle == 2


def test_channel_bits_are_taken_out_of_the_address() -> None:
    spread = DramSpecification(refresh="off", channels=3, interleave_bytes=128)
    alone = DramSpecification(refresh="off", interleave_bytes=128)
    lines = [0, 64, 128, 192, 5000 * 64, 9999 * 64]
    dealt = [
        (0, READ, line // 128 * 128 * 3 + line % 128 + 256) for line in lines
    ]  # those of the third channel
    plain = [(0, READ, line) for line in lines]
    assert replay(dealt, spread, log=True).commands == replay(plain, alone, log=True).commands


def test_in_order_scheduling_is_slower_and_in_order() -> None:
    trace = [(0, READ, place * 7919 % 4096 * 64) for place in range(300)]
    in_order = replay(trace, DramSpecification(scheduler="fcfs"))
    assert [tag for tag, _cycle in in_order.completions] == list(range(300))
    assert in_order.last_completion_cycle > replay(trace, DramSpecification()).last_completion_cycle


@pytest.mark.parametrize(
    ("operation", "address", "message"),
    [
        (CONSUME, 0, "dram: consume is no operation of memory"),
        (8, 0, "dram: operation 8 is no operation of memory"),
        (-1, 0, "dram: operation -1 is no operation of memory"),
        (READ, 9 << TENSOR_SHIFT, "dram: address 0x90000000000 names tensor 9, not one of 0 to 7"),
    ],
)
def test_what_is_no_memory_request_is_refused(operation: int, address: int, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        replay([(0, operation, address)], PLAIN)


def test_signals_and_samples_agree() -> None:
    dram = DramChannel("dram", PLAIN)
    assert len(dram.signals()) == len(dram.sample())


def test_a_bad_trace_line_is_named(tmp_path) -> None:
    path = tmp_path / "bad.trace"
    path.write_text("0 R 20\n1 X 40\n")
    with pytest.raises(
        ValueError, match=r"bad.trace:2: expected 'cycle R\|W hexadecimal-address' .*, not '1 X 40'"
    ):
        replay(path, PLAIN)
