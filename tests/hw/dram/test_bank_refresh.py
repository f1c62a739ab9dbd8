"""Refresh of single banks: its laws under loads that never pause, in idle times, and a worked example."""

from dataclasses import replace
from itertools import pairwise

import pytest

from fiberscope.hw.dram import DramChannel, DramSpecification, DramStandard, replay, standard
from fiberscope.hw.dram.commands import COMMANDS, REFRESH_BANK, Command
from fiberscope.hw.dram.device import Device
from fiberscope.hw.dram.trace import Request
from fiberscope.hw.memory.protocol import READ, WRITE

NAMES = ("HBM1_1000", "HBM2_2000", "HBM3_6400")
ONE_BUS = standard("HBM2_2000").model_copy(update={"name": "one bus", "command_buses": 1})
SCATTERED = [(0, WRITE if place % 3 == 0 else READ, place * 7919 % 65536 * 64) for place in range(8000)]
STREAM = [(0, READ, place * 64) for place in range(16000)]


def run(
    name: str | DramStandard, trace: list[Request], refresh: str = "per_bank", **options: object
) -> list[Command]:
    chosen = DramSpecification(name, refresh=refresh, **options)  # type: ignore[arg-type]
    return list(replay(trace, chosen, log=True).commands)


def refreshes(commands: list[Command]) -> dict[int, list[int]]:
    """The cycles of each bank's refreshes."""
    of_bank: dict[int, list[int]] = {}
    for command in commands:
        if command.name == "REFB":
            of_bank.setdefault(command.bank, []).append(command.cycle)
    return of_bank


@pytest.mark.parametrize("trace", [SCATTERED, STREAM], ids=["scattered", "stream"])
@pytest.mark.parametrize("device", [*map(standard, NAMES), ONE_BUS], ids=lambda device: device.name)
def test_each_bank_is_refreshed_once_an_interval_and_before_the_next_is_due(
    device: DramStandard, trace: list[Request]
) -> None:
    """Bank b of a pseudo-channel of B is due at (k B + b + 1) / B of tREFI, and waits for less than 1 / B."""
    organisation = device.organisation
    banks = organisation.bank_groups * organisation.banks
    cycles = refreshes(run(device, trace))
    assert sorted(cycles) == list(range(organisation.total_banks))
    for bank, own in cycles.items():
        for turn, cycle in enumerate(own):
            due = (turn * banks + bank % banks + 1) * device.timing.refi // banks
            assert 0 <= cycle - due < device.timing.refi // banks
    assert max(map(len, cycles.values())) - min(map(len, cycles.values())) <= 1


@pytest.mark.parametrize("trace", [SCATTERED, STREAM], ids=["scattered", "stream"])
@pytest.mark.parametrize("name", NAMES)
def test_with_lookahead_a_round_has_every_bank_once_and_no_turn_is_late(
    name: str, trace: list[Request]
) -> None:
    """So that two refreshes of a bank are less than two tREFI apart."""
    device = standard(name)
    banks = device.organisation.bank_groups * device.organisation.banks
    commands = run(name, trace, "per_bank_lookahead")
    orders = set()
    for pseudo in range(device.organisation.pseudo_channels):
        own = [command for command in commands if (command.name, command.pseudo_channel) == ("REFB", pseudo)]
        for turn, command in enumerate(own):
            assert 0 <= command.cycle - (turn + 1) * device.timing.refi // banks < device.timing.refi // banks
        rounds = [
            [command.bank for command in own[first : first + banks]] for first in range(0, len(own), banks)
        ]
        assert all(len(set(order)) == len(order) for order in rounds)
        orders |= {tuple(order) for order in rounds}
    assert any(list(order) != sorted(order) for order in orders)


def test_with_lookahead_it_costs_no_more_than_in_turn() -> None:
    """Of a load that wants few banks at a time; the first bank in order where no burst waits for any."""
    blocks = [(0, READ, place // 256 * (1 << 13) + place % 256 * 32) for place in range(6000)]
    in_turn, ahead = (
        replay(blocks, DramSpecification(refresh=way)).last_completion_cycle  # type: ignore[arg-type]
        for way in ("per_bank", "per_bank_lookahead")
    )
    assert ahead < in_turn
    idle = refreshes(run("HBM2_2000", [(0, READ, 0), (4000, READ, 0)], "per_bank_lookahead"))
    assert idle == refreshes(run("HBM2_2000", [(0, READ, 0), (4000, READ, 0)]))


@pytest.mark.parametrize("refresh", ["per_bank", "per_bank_lookahead"])
@pytest.mark.parametrize("name", NAMES)
def test_refreshes_that_leave_no_cycle_are_refused_and_those_that_leave_one_are_not(
    name: str, refresh: str
) -> None:
    """Each takes a command; with as many banks as tREFI has cycles, none is left for a request."""
    device = standard(name)
    banks = device.organisation.total_banks
    slow = -(-banks * device.hertz // device.timing.refi)
    with pytest.raises(ValueError, match=f"refreshes of {banks} single banks take all {banks} cycles"):
        DramSpecification(name, hertz=slow, refresh=refresh)  # type: ignore[arg-type]
    next_to = -(-(banks + 1) * device.hertz // device.timing.refi)
    chosen = DramSpecification(name, hertz=next_to, refresh=refresh)  # type: ignore[arg-type]
    assert replay([(0, READ, 0), (0, WRITE, 1 << 20)], chosen).last_completion_cycle > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_bank_that_is_refreshed_rests_and_the_others_go_on(name: str) -> None:
    timing = standard(name).timing
    commands = run(name, SCATTERED)
    whole = [
        (place, refresh)
        for place, refresh in enumerate(commands)
        if refresh.name == "REFB" and commands[-1].cycle >= refresh.cycle + timing.rfc_bank
    ]
    assert len(whole) > 1
    for place, refresh in whole:
        within = [
            command
            for command in commands[place + 1 :]
            if command.cycle < refresh.cycle + timing.rfc_bank - 1
        ]
        assert not [command for command in within if command.bank == refresh.bank]
        beside = [command for command in within if command.pseudo_channel == refresh.pseudo_channel]
        assert any(command.name in ("RD", "WR") for command in beside)
        assert any(command.name == "ACT" for command in beside)


@pytest.mark.parametrize("scheduler", ["frfcfs", "row_hit_first", "fcfs"])
def test_no_stream_of_hits_keeps_a_bank_from_its_refresh(scheduler: str) -> None:
    """Every read hits the one open row: it is closed all the same, tRTP after the last RD."""
    device = standard("HBM2_2000")
    hits = [(0, READ, place % 32 * 32) for place in range(6000)]
    commands = run("HBM2_2000", hits, scheduler=scheduler, request_bytes=32, interleave_bytes=32)
    of_first = [command for command in commands if command.bank == 0]
    closed = [pair for pair in pairwise(of_first) if [one.name for one in pair] == ["PRE", "REFB"]]
    assert len(closed) == sum(command.name == "REFB" for command in of_first) > 1
    for before, after in closed:
        due = after.cycle // device.timing.refi * device.timing.refi + device.timing.refi // 16
        assert before.cycle - due <= device.timing.rtp
        assert after.cycle == before.cycle + device.timing.rp


def cycles_by_refresh(name: str, trace: list[Request], queue: int) -> tuple[int, int, int]:
    """Without refresh, with that of single banks, with that of all at once."""
    chosen = DramSpecification(name, address_map="RoCoBaBgCl", read_queue=queue, write_queue=queue)
    off, single, every = (
        replay(trace, replace(chosen, refresh=way)).last_completion_cycle  # type: ignore[arg-type]
        for way in ("off", "per_bank", "all_bank")
    )
    return off, single, every


@pytest.mark.parametrize("trace", [SCATTERED, STREAM], ids=["scattered", "stream"])
@pytest.mark.parametrize("name", NAMES)
def test_it_costs_less_than_refreshing_all_banks_at_once(name: str, trace: list[Request]) -> None:
    """With queues of 64; and of a stream, which goes over all banks, it takes half as much at the most."""
    off, single, every = cycles_by_refresh(name, trace, 64)
    assert off <= single < every
    assert trace is SCATTERED or 2 * (single - off) < every - off


def test_in_a_short_queue_the_bursts_of_the_resting_bank_take_the_room_of_others() -> None:
    """Why the law above is not one of every queue: of 32 bursts at random, too many wait for one bank."""
    off, single, every = cycles_by_refresh("HBM2_2000", SCATTERED, 32)
    assert off < every < single


def test_an_idle_channel_makes_up_for_its_refreshes() -> None:
    """After 100,000 idle cycles all banks were refreshed as often as if it had been awake."""
    trace = [(0, READ, 0), (100_000, READ, 0)]
    result = replay(trace, DramSpecification(refresh="per_bank"), log=True)
    refi = standard("HBM2_2000").timing.refi
    due = {bank: (100_000 - (bank % 16 + 1) * refi // 16) // refi + 1 for bank in range(32)}
    assert {bank: len(cycles) for bank, cycles in refreshes(list(result.commands)).items()} == due
    counted = {bank: result.counters[f"refreshes_bank_{bank:02}"] for bank in range(32)}
    assert counted == due
    assert result.counters["refreshes"] == sum(due.values())


def test_a_worked_example() -> None:
    """Bank 0's row is open when its turn comes, at tREFI / 16: PRE, after tRP the refresh, after tRFC an ACT.

    Bank 16, the first of the other pseudo-channel, is closed and waits for the row bus only. An ACT is
    received one cycle after it is sent, so that it is sent one sooner.
    """
    timing = standard("HBM2_2000").timing
    due = timing.refi // 16
    trace = [(200, READ, 0), (due + 2, READ, 0)]
    commands = run("HBM2_2000", trace, request_bytes=32, interleave_bytes=32)
    seen = [(command.cycle, command.name, command.bank) for command in commands if command.cycle >= due]
    refresh = due + timing.rp
    assert seen[:3] == [(due, "PRE", 0), (refresh, "REFB", 0), (refresh + 1, "REFB", 16)]
    assert seen[3] == (refresh + timing.rfc_bank - 1, "ACT", 0)


def test_a_waveform_names_the_refresh_of_a_bank() -> None:
    signals = {
        signal.name: signal for signal in DramChannel("dram", DramSpecification(refresh="per_bank")).signals()
    }
    assert signals["row_command"].states[REFRESH_BANK] == COMMANDS[REFRESH_BANK] == "REFB"
    assert len(COMMANDS) <= 1 << signals["row_command"].width


@pytest.mark.parametrize("row", ["HBM2_2000", "HBM3_6400", "DDR4_2133"])
def test_a_refresh_of_all_banks_waits_for_the_last_one(row):
    """JEDEC: from one REF to the next of the same pseudo-channel, tRFC."""
    device = Device(standard(row))
    device.refresh(0, 100)
    assert device.refresh_ready(0) == 100 + standard(row).timing.rfc
    device.start_cycle()
    assert device.pseudo_channels == 1 or device.refresh_ready(1) == 101  # the row bus
