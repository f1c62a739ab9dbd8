"""What a person reads: fits the terminal, is readable without colour, and hides nothing that matters."""

import dataclasses
import io

import pytest
from rich.console import Console

import fiberscope
from fiberscope.results.report.document import Report
from fiberscope.results.report.families import group_families
from fiberscope.results.report.parts import Component
from fiberscope.results.report.summary import show

SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"


@pytest.fixture
def report(toy: str) -> Report:
    return fiberscope.simulate(toy, SMALL, settings={"lane.count": 4, "lane.pause": 2})


def shown(report: Report, width: int = 80, encoding: str = "utf-8") -> str:
    """The summary as plain text without colour."""
    buffer = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show(report, Console(file=buffer, width=width, highlight=False, force_terminal=False, color_system=None))
    buffer.seek(0)
    return buffer.read()


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_fits_the_terminal(report: Report, width: int) -> None:
    text = shown(report, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert max(len(line) for line in lines if "█" in line) <= 120
    for part in (
        "toy on uniform",
        "Cycles",
        "lane.multiplier x4",
        "Traffic",
        "Memory",
        "Bottleneck",
        "Verified",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (366e-9, "366 ns"),
        (365.3142e-9, "365.31 ns"),
        (0.0, "0 ns"),
        (999.999e-9, "1.00 us"),
        (1.9688e-6, "1.97 us"),
        (2.0, "2.00 s"),
    ],
)
def test_a_time_below_a_microsecond_is_not_rounded_to_whole_cycles(
    report: Report, seconds: float, text: str
) -> None:
    lines = shown(report.model_copy(update={"cycles": 366, "seconds": seconds})).splitlines()
    assert f"Cycles      366 ({text})" in map(str.rstrip, lines)


def test_bars_show_what_the_numbers_say(report: Report) -> None:
    line = next(line for line in shown(report).splitlines() if line.startswith("lane.feeder x4"))
    bar = line.split()[2]
    family = group_families(report.components)["lane.feeder"]
    assert set(bar) <= set("█▒░·")
    assert bar.count("█") == pytest.approx(len(bar) * family.share(family.busy), abs=1)
    assert bar.count("░") == pytest.approx(len(bar) * family.share(family.output_stall), abs=1)
    assert f"{family.share(family.busy):.0%}" in line


def test_a_terminal_without_unicode_gets_ascii(report: Report) -> None:
    text = shown(report, encoding="ascii")
    assert text.isascii()
    assert "# busy  < waiting for input  > waiting for output  . idle" in text


def test_a_surrogate_stands_in_a_box(report: Report) -> None:
    notice = "SURROGATE: this is not it but a stand-in"
    operand = report.workload.model_copy(update={"source": "surrogate", "notice": notice})
    text = shown(report.model_copy(update={"workload": operand}))
    assert "NOTICE" in text
    assert notice in text
    assert "surrogate" in text.splitlines()[0] + text.splitlines()[1]


def test_brackets_in_names_are_no_markup(report: Report) -> None:
    operand = report.workload.model_copy(update={"name": "[bold]x[/bold]"})
    assert "[bold]x[/bold]" in shown(report.model_copy(update={"workload": operand}))


def component(busy: int, input_stall: int = 0, output_stall: int = 0, idle: int = 0) -> Component:
    return Component(
        cycles=busy + input_stall + output_stall + idle,
        busy=busy,
        input_stall=input_stall,
        output_stall=output_stall,
        idle=idle,
    )


@pytest.mark.parametrize(
    ("lanes", "feeder", "memory", "sentence"),
    [
        ((10, 10), 10, 0.85, "Memory bandwidth is the limit: 85% of the peak is used."),
        ((90, 80), 10, 0.5, "Computation is the limit: the 2 lane.multiplier are busy 85% of the time."),
        ((50, 50), 95, 0.5, "toy.lane00.feeder is the limit: it is busy 95% of the time."),
        (
            (70, 10),
            10,
            0.5,
            "No part is near its peak (memory 50%): the 2 lane.multiplier are without work 60% of the time "
            "(the busiest, toy.lane00.multiplier, is busy 70%).",
        ),
    ],
)
def test_the_bottleneck_in_a_sentence(
    toy: str, lanes: tuple[int, int], feeder: int, memory: float, sentence: str
) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck

    parts = {
        f"toy.lane{number:02}.multiplier": component(busy, idle=100 - busy)
        for number, busy in enumerate(lanes)
    }
    parts["toy.lane00.feeder"] = component(feeder, idle=100 - feeder)
    assert bottleneck(accelerators.find(toy), parts, memory) == sentence


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        (
            10,
            "No part is near its peak (memory 30%): the 32 lane.multiplier are without work 87% of the time "
            "(the busiest, toy.lane07.multiplier, is busy 100%).",
        ),
        (80, "Computation is the limit: the 32 lane.multiplier are busy 81% of the time."),
    ],
)
def test_one_busy_worker_of_many_is_not_the_limit(toy: str, others: int, sentence: str) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck

    busy = {number: 100 if number == 7 else others for number in range(32)}
    parts = {f"toy.lane{lane:02}.multiplier": component(of, idle=100 - of) for lane, of in busy.items()}
    parts["toy.lane00.feeder"] = component(10, idle=90)
    assert bottleneck(accelerators.find(toy), parts, 0.3) == sentence


@pytest.mark.parametrize(
    ("busy", "memory", "limit"),
    [
        (80, 0.8, "Memory bandwidth is the limit: 80% of the peak is used."),
        (80, 0.79, "Computation is the limit: lane.multiplier is busy 80% of the time."),
        (79, 0.79, "No part is near its peak (memory 79%): lane.multiplier is without work 21% of the time."),
    ],
)
def test_a_part_is_the_limit_from_four_fifths_of_its_peak(
    toy: str, busy: int, memory: float, limit: str
) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck

    kind = dataclasses.replace(accelerators.find(toy), limits=())
    assert bottleneck(kind, {"toy.lane00.multiplier": component(busy, idle=100 - busy)}, memory) == limit


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("lane.feeder", "toy.lane00.feeder is the limit: it is busy 90% of the time."),
        # a component of the parent family stands for its units, as RTL does; an absent family limits nothing
        ("lane.feeder.queue", "toy.lane00.feeder is the limit: it is busy 90% of the time."),
        ("absent", "No part is near its peak (memory 30%): lane.multiplier is without work 90% of the time."),
    ],
)
def test_a_limit_may_be_part_of_a_component_or_absent(toy: str, limit: str, sentence: str) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck

    parts = {"toy.lane00.multiplier": component(10, idle=90), "toy.lane00.feeder": component(90, idle=10)}
    assert bottleneck(dataclasses.replace(accelerators.find(toy), limits=(limit,)), parts, 0.3) == sentence


@pytest.mark.parametrize(
    ("part", "loss"),
    [
        (component(20, input_stall=50, idle=30), "waiting for input 50%"),
        (component(20, output_stall=50, idle=30), "waiting for output 50%"),
    ],
)
def test_the_largest_loss_is_named(toy: str, part: Component, loss: str) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck

    parts = {"toy.lane00.multiplier": part, "toy.lane00.feeder": component(10, idle=90)}
    sentence = bottleneck(accelerators.find(toy), parts, 0.3)
    assert sentence == f"No part is near its peak (memory 30%): lane.multiplier is {loss} of the time."


def test_the_machines_own_explanation_follows_a_loss_and_no_limit(toy: str) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck

    parts = {"toy.lane00.multiplier": component(20, idle=80), "toy.lane00.feeder": component(10, idle=90)}
    explained = "The longest row takes 19 cycles."
    assert bottleneck(accelerators.find(toy), parts, 0.3, explained).endswith(f"80% of the time. {explained}")
    assert explained not in bottleneck(accelerators.find(toy), parts, 0.9, explained)


@pytest.mark.parametrize(
    ("held", "memory", "sentence"),
    [
        (
            98,
            0.7,
            "Memory is probably the limit: its channels hold requests 98% of the time and reach 70% of the "
            "peak bandwidth.",
        ),
        (80, 0.7, "No part is near its peak (memory 70%): lane.multiplier is without work 80% of the time."),
        (98, 0.2, "No part is near its peak (memory 20%): lane.multiplier is without work 80% of the time."),
    ],
)
def test_channels_that_always_hold_requests_are_probably_the_limit(
    toy: str, held: int, memory: float, sentence: str
) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck

    kind = dataclasses.replace(accelerators.find(toy), limits=(), channels="memory.channel")
    parts = {
        "toy.lane00.multiplier": component(20, idle=80),
        "toy.memory.channel00": component(held, idle=100 - held),
    }
    assert bottleneck(kind, parts, memory) == sentence


@pytest.mark.parametrize(
    ("first", "second", "third", "sentence"),
    [
        ((90, 85), (5, 4), 0, "Computation is the limit: the 2 y.pe.mul are busy 88% of the time."),
        ((4, 5), (85, 90), 0, "Computation is the limit: the 2 z.pe.add are busy 88% of the time."),
        ((4, 5), (3, 2), 90, "Computation is the limit: w.pe.max is busy 90% of the time."),
        (
            (60, 2),
            (35, 35),
            1,
            "No part is near its peak (memory 30%): the 2 y.pe.mul are without work 69% of the time "
            "(the busiest, toy.y.pe00.mul, is busy 60%).",
        ),
    ],
)
def test_the_bottleneck_names_the_stage_that_works_longest(
    toy: str, first: tuple[int, int], second: tuple[int, int], third: int, sentence: str
) -> None:
    from fiberscope import accelerators
    from fiberscope.results.report.families import bottleneck
    from fiberscope.results.store.measures import measures

    stages = ("y.pe.mul", "z.pe.add", "w.pe.max")
    machine = dataclasses.replace(accelerators.find(toy), workers=stages[-1], stages=stages, limits=())
    busy = {f"toy.y.pe{pe:02}.mul": cycles for pe, cycles in enumerate(first)}
    busy |= {f"toy.z.pe{pe:02}.add": cycles for pe, cycles in enumerate(second)} | {"toy.w.pe.max": third}
    parts = {name: component(cycles, idle=100 - cycles) for name, cycles in busy.items()}
    said = bottleneck(machine, parts, 0.3)
    assert said == sentence
    report = fiberscope.simulate(toy, SMALL).model_copy(update={"components": parts})
    assert measures(report, machine.worker_families)["worker_kind"] in said
