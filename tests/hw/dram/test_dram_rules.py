"""Commands against the reference's constraint list, and against a second, plain model."""

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest
from dram_model import PlainModel
from dram_rules import ROWS, Rules, faults
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fiberscope.hw.dram import ADDRESS_MAPS, DramSpecification, replay, standard
from fiberscope.hw.dram.trace import Request
from fiberscope.hw.memory.protocol import READ, WRITE

BURST = 64  # bytes that divide into whole bursts of every standard


def rules(row: str) -> Rules:
    organisation = standard(row).organisation
    return Rules(row, organisation.bank_groups, organisation.banks)


@st.composite
def traces(draw: st.DrawFn) -> list[Request]:
    """Bursts of requests with pauses: near and far addresses, some again and again, reads and writes."""
    count = draw(st.integers(1, 120))
    pauses = draw(st.lists(st.sampled_from([0, 0, 0, 1, 7, 60, 5000]), min_size=count, max_size=count))
    spans = draw(st.sampled_from([1 << 9, 1 << 13, 1 << 17, 1 << 24]))
    addresses = draw(st.lists(st.integers(0, spans // BURST), min_size=count, max_size=count))
    writes = draw(st.sampled_from([0.0, 0.3, 0.9]))
    chances = draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    cycle, trace = 0, []
    for pause, address, chance in zip(pauses, addresses, chances, strict=True):
        cycle += pause
        trace.append((cycle, WRITE if chance < writes else READ, address * BURST))
    return trace


def one_burst(row: str, **options: object) -> DramSpecification:
    size = standard(row).organisation.burst_bytes
    return DramSpecification(standard=row, request_bytes=size, interleave_bytes=size, **options)  # type: ignore[arg-type]


ACTIVE_ROWS = ("HBM2_2000", "HBM3_6400", "DDR4_2133")  # tFAW binds in the last two only: 4 tRRD are shorter
POLICIES = st.fixed_dictionaries(
    {
        "scheduler": st.sampled_from(["frfcfs", "row_hit_first"]),
        "page_policy": st.sampled_from(["open", "closed"]),
    }
)
relaxed = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def refreshed(rows: Iterable[str]) -> st.SearchStrategy[tuple[str, str]]:
    """A row and how it is refreshed: DDR4 has no refresh of single banks."""
    ways = ("all_bank", "per_bank", "per_bank_lookahead", "off")
    pairs = [(row, way) for row in rows for way in ways]
    return st.sampled_from([pair for pair in pairs if not (pair[0][:3] == "DDR" and "per" in pair[1])])


@relaxed
@given(
    refreshed_row=refreshed(sorted(ROWS)),
    cut=st.sampled_from(sorted(ADDRESS_MAPS)),
    policy=POLICIES,
    issue=st.sampled_from([1, 3]),
    trace=traces(),
)
def test_every_command_is_that_of_the_plain_model(
    refreshed_row: tuple[str, str], cut: str, policy: dict[str, str], issue: int, trace: list[Request]
) -> None:
    row, refresh = refreshed_row
    assert_as_the_plain_model(row, one_burst(row, address_map=cut, refresh=refresh, **policy), issue, trace)


@settings(max_examples=8)
@given(
    refreshed_row=refreshed(ACTIVE_ROWS),
    policy=POLICIES,
    queue=st.sampled_from([8, 16, 32]),
    marks=st.sampled_from([(0.2, 0.8), (0.0, 0.5), (0.25, 0.75), (0.5, 1.0)]),
    writes=st.sampled_from([0.4, 0.6]),
    seed=st.integers(0, 1000),
)
def test_so_is_every_command_of_long_traces_that_cross_the_watermarks(
    refreshed_row: tuple[str, str],
    policy: dict[str, str],
    queue: int,
    marks: tuple[float, float],
    writes: float,
    seed: int,
) -> None:
    chance = random.Random(seed)
    trace = [
        (0, WRITE if chance.random() < writes else READ, chance.randrange(1 << 10) * BURST)
        for _ in range(500)
    ]
    row, refresh = refreshed_row
    chosen = one_burst(
        row, refresh=refresh, **policy, write_queue=queue, write_low=marks[0], write_high=marks[1]
    )
    assert_as_the_plain_model(row, chosen, 4, trace)


def assert_as_the_plain_model(row: str, chosen: DramSpecification, issue: int, trace: list[Request]) -> None:
    model = PlainModel(row, chosen, trace, issue)
    model.run()
    result = replay(trace, chosen, issue, log=True)
    assert list(result.commands) == model.commands[: len(result.commands)]
    assert {command.name for command in model.commands[len(result.commands) :]} <= {
        "PRE",
        "PREA",
        "REF",
        "REFB",
    }
    assert list(result.completions) == model.completions
    assert {name: result.counters[name] for name in model.counts} == model.counts


@relaxed
@given(
    refreshed_row=refreshed(sorted(ROWS)),
    cut=st.sampled_from(sorted(ADDRESS_MAPS)),
    scheduler=st.sampled_from(["frfcfs", "row_hit_first", "fcfs"]),
    page_policy=st.sampled_from(["open", "closed"]),
    request_bytes=st.sampled_from([64, 128, 256]),
    trace=traces(),
)
def test_no_command_breaks_a_constraint(
    refreshed_row: tuple[str, str],
    cut: str,
    scheduler: str,
    page_policy: str,
    request_bytes: int,
    trace: list[Request],
) -> None:
    row, refresh = refreshed_row
    chosen = DramSpecification(
        standard=row,
        address_map=cut,
        refresh=refresh,  # type: ignore[arg-type]  # drawn from its values
        scheduler=scheduler,  # type: ignore[arg-type]  # drawn from its values
        page_policy=page_policy,  # type: ignore[arg-type]  # drawn from its values
        request_bytes=request_bytes,
        interleave_bytes=request_bytes,
    )
    result = replay(trace, chosen, log=True)
    assert faults(result.commands, rules(row)) == []


SCATTERED = [(0, WRITE if place % 5 == 0 else READ, place * 7919 * 64 % (1 << 24)) for place in range(400)]
STREAMED = [(0, READ, place * 64) for place in range(200)]
ROW_BY_ROW = [(0, READ, row * (1 << 20) + column * 64) for row in range(6) for column in range(12)]
PLANTED: dict[str, dict[str, int]] = {
    name: {name: 1}
    for name in (
        "rcd_read",
        "rcd_write",
        "rp",
        "ras",
        "ccd_l",
        "faw",
        "rtp",
        "wr",
        "wtr_l",
        "rtw",
        "rfc",
        "rfc_bank",
        "rrefd",
    )
}
PLANTED["rc"] = {"rc": 1, "ras": 1}
PLANTED["rrd_s"] = {"rrd_s": 1, "rrd_l": 1, "faw": 1}
PLANTED["wtr_s"] = {"wtr_s": 1, "wtr_l": 1}
PLANTED["burst"] = {"burst": 1, "ccd_s": 1, "ccd_l": 1}


def faults_with(row: str, forgotten: dict[str, int]) -> list[str]:
    """What the checker finds in a run of a device that has other timings than it believes."""
    device = standard(row)
    timing = device.timing.model_copy(update={"refi": 900, **forgotten})
    broken = device.model_copy(update={"timing": timing})
    trace = SCATTERED + STREAMED + ROW_BY_ROW
    ways = ("all_bank", "per_bank") if device.timing.rfc_bank else ("all_bank",)
    runs = [replay(trace, replace(one_burst(row), standard=broken, refresh=way), log=True) for way in ways]
    return [fault for run in runs for fault in faults(run.commands, rules(row))]


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_forgotten_constraint_is_found(name: str) -> None:
    assert any(faults_with(row, PLANTED[name]) for row in ACTIVE_ROWS)


@pytest.mark.parametrize("row", ACTIVE_ROWS)
def test_nothing_is_found_when_nothing_is_forgotten(row: str) -> None:
    assert faults_with(row, {}) == []
