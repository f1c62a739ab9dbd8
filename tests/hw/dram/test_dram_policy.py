"""The controller's policy in worked examples: write batches, rows kept for hits, what a replay counts."""

import pytest
from dram_rules import ORACLES

from fiberscope.hw.dram import DramChannel, DramSpecification, ReplayResult, replay
from fiberscope.hw.dram.trace import ReplySink, Request, TraceSource
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.sim import Kernel

ROW = 1 << 15  # bytes from a row to the next of the same bank, in RoBaRaCoCh of HBM2
BURST = 32


def run(trace: list[Request], issue: int = 8, **options: object) -> ReplayResult:
    chosen = DramSpecification(request_bytes=BURST, interleave_bytes=BURST, refresh="off", **options)  # type: ignore[arg-type]
    return replay(trace, chosen, issue, log=True)


def columns(result: ReplayResult) -> str:
    """The column commands in order: r for a RD, w for a WR."""
    return "".join(command.name[0].lower() for command in result.commands if command.name in ("RD", "WR"))


def reads_then_writes(writes: int) -> list[Request]:
    """30 reads of one row and writes to another bank's, all there before the first can be served."""
    return [(0, READ, place * BURST) for place in range(30)] + [
        (0, WRITE, ROW // 4 + place * BURST) for place in range(writes)
    ]


@pytest.mark.parametrize(
    ("marks", "batch"), [((0.25, 0.5), 4), ((0.125, 0.5), 5), ((0.0, 0.5), 5), ((0.375, 0.5), 3)]
)
def test_writes_begin_above_the_high_mark_and_end_below_the_low_one(
    marks: tuple[float, float], batch: int
) -> None:
    """Of a queue of eight, five are above half; they go on until fewer than two (one, three) wait."""
    low, high = marks
    at = columns(run(reads_then_writes(4), write_queue=8, write_low=low, write_high=high))
    assert at == "r" * 30 + "w" * 4
    above = columns(run(reads_then_writes(5), write_queue=8, write_low=low, write_high=high))
    first, _, rest = above.partition("w" * batch)
    assert "w" not in first
    assert rest.startswith("r") or batch == 5
    assert above.count("w") == 5
    assert "w" not in rest.rstrip("w")


def gather() -> list[Request]:
    """Two rows of each of sixteen banks by turns: others have the data bus when a RD is ready, not a PRE."""
    return [
        (0, READ, place % 2 * ROW + place // 2 % 16 * (ROW // 16) + place // 32 * BURST)
        for place in range(512)
    ]


def test_a_row_stays_open_for_the_older_bursts_that_hit_it() -> None:
    plain, kept = run(gather()), run(gather(), scheduler="row_hit_first")
    activates = [sum(command.name == "ACT" for command in result.commands) for result in (plain, kept)]
    assert activates[1] < activates[0]
    assert kept.last_completion_cycle < plain.last_completion_cycle


@pytest.mark.parametrize(
    ("trace", "address_map", "misses"),
    [
        ("rand_read_64B", "RoBaRaCoCh", 41),  # the reference's own, without row_hit_first
        ("seq_read_64B", "MOP4CLXOR", 58),
    ],
)
def test_a_bank_is_found_closed_once_where_no_row_is_taken_away(
    trace: str, address_map: str, misses: int
) -> None:
    """Of 32 banks, each once; else one whose row was taken away may be found so again."""
    plain, kept = (
        replay(
            ORACLES / f"{trace}.trace.gz",
            DramSpecification(
                address_map=address_map,
                scheduler=scheduler,
                request_bytes=BURST,
                interleave_bytes=BURST,
                refresh="off",
            ),
        )
        for scheduler in ("frfcfs", "row_hit_first")
    )
    assert (plain.counters["row_misses"], kept.counters["row_misses"]) == (misses, 32)
    assert kept.last_completion_cycle < plain.last_completion_cycle


def test_closed_pages_close_a_row_after_its_last_waiting_burst() -> None:
    """Two reads of a row that wait together share it; one that comes later finds the bank closed."""
    trace = [(0, READ, 0), (0, READ, BURST), (500, READ, 2 * BURST)]
    kept, closed = run(trace), run(trace, page_policy="closed")
    assert [command.name for command in kept.commands] == ["ACT", "RD", "RD", "RD"]
    assert [command.name for command in closed.commands] == ["ACT", "RD", "RD", "AP", "ACT", "RD", "AP"]
    assert (kept.counters["row_hits"], closed.counters["row_hits"]) == (2, 1)
    assert closed.last_completion_cycle - kept.last_completion_cycle == 15  # tRCD and the second clock of ACT


def test_closed_pages_save_the_precharge_of_a_row_conflict() -> None:
    """A read of another row, later: a PRE and an ACT with open rows, an ACT alone with closed ones."""
    trace = [(0, READ, 0), (500, READ, ROW)]
    kept, closed = run(trace), run(trace, page_policy="closed")
    assert (kept.counters["row_conflicts"], closed.counters["row_misses"]) == (1, 2)
    assert kept.last_completion_cycle - closed.last_completion_cycle == 13  # tRP less the ACT's second clock


def test_a_replay_ends_with_its_last_write_too() -> None:
    trace = [(0, READ, 0), *((0, WRITE, ROW + place * BURST) for place in range(10))]
    result = run(trace)
    last = max(command.cycle for command in result.commands if command.name == "WR")
    assert result.last_completion_cycle == last > result.completions[-1][1]
    assert result.bytes_per_second == pytest.approx(11 * BURST / (last / 10**9))


def test_a_replay_of_reads_ends_with_the_last_data() -> None:
    result = run([(0, READ, 0)])
    assert result.last_completion_cycle == result.completions[-1][1] == 32


def test_a_data_bus_is_busy_for_the_cycles_of_its_bursts() -> None:
    """Ten bursts of two cycles; a pseudo-channel that nothing goes to is never busy."""
    counters = run([(0, READ if place % 2 else WRITE, place * BURST) for place in range(10)]).counters
    assert (counters["data_bus_busy_0"], counters["data_bus_busy_1"]) == (20, 0)


@pytest.mark.parametrize("operation", [READ, WRITE])
@pytest.mark.parametrize("depth", [5, 6, 9])
def test_a_channel_queues_as_many_bursts(operation: int, depth: int) -> None:
    """Requests of one burst, all to other rows of one bank: far more come than it can serve."""
    chosen = DramSpecification(
        request_bytes=BURST, interleave_bytes=BURST, read_queue=depth, write_queue=depth, refresh="off"
    )
    kernel = Kernel()
    kernel.clock("memory", chosen.clock_hertz)
    source = kernel.add(TraceSource("source", [(0, operation, row * ROW) for row in range(40)], 4))
    dram = kernel.add(DramChannel("dram", chosen))
    sink = kernel.add(ReplySink("sink", 40))
    kernel.connect(source, "requests", dram, "requests", capacity=4)
    kernel.connect(dram, "replies", sink, "replies", capacity=4)
    place = [signal.name for signal in dram.signals()].index(
        "write_queue" if operation == WRITE else "read_queue"
    )
    most = 0
    while kernel.step():
        most = max(most, dram.sample()[place])
    assert most == depth
