"""The page of Gamma: its example step by step, its settings and its accuracy are what runs and tables say."""

import re
from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope import accelerators
from fiberscope.explore.compare import read_published

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "gamma.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "gamma_reference.md").read_text(encoding="utf-8")
ALONE = {"pe.count": 1, "memory.model": "simple"}
UNIFORM = "uniform:rows=300,cols=300,nonzeros=3000"
CYCLES = (85, 86, *range(173, 181), *range(261, 280))  # in which tokens of row 0 reach a part
CHANNELS = ("tasks", "fetches", "handed_on", "reads", "way0", "way1", "merged", "products", "sums")
PORTS = ("prefetcher.tasks", "prefetcher.requests", "reader.tasks", "reader.requests", "reader.ways[0]")
PORTS += ("reader.ways[1]", "merger.merged", "multiplier.products", "accumulator.sums")
Tokens = dict[str, list[tuple[int, tuple[Any, ...]]]]


def table(head: str) -> list[list[str]]:
    """Return the cells of the table of the page whose first line begins so, without its heads."""
    rows = PAGE.split(f"\n| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[2:]]


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    """The tokens of the example, by channel: the first cycle in which the reader sees it, and its fields."""
    seen: Tokens = {name: [] for name in CHANNELS}
    rows = str(DOCS.parent / "examples" / "three_rows.mtx")
    with fiberscope.debug("gamma", rows, settings=ALONE) as session:
        for cycle in CYCLES:
            session.goto(cycle)
            for name, port in zip(CHANNELS, PORTS, strict=True):
                seen[name] += [(at, tuple(fields)) for at, fields in session.queue(f"pe0.{port}").data.tokens]
    return {name: list(dict.fromkeys(each)) for name, each in seen.items()}


def test_the_steps_up_to_the_merger_are_those_of_the_run(tokens: Tokens) -> None:
    dispatch, pointers, *sent, passed, read, first, second, last, merge = (
        int(row[0]) for row in table("cycle | part")
    )
    fetches, reads = ([(at, word[-1] & 0xFF) for at, word in tokens[name]] for name in ("fetches", "reads"))
    assert tokens["tasks"][0] == (dispatch + 1, (0,))
    assert fetches[:4] == [
        (pointers + 1, 0),
        *((at + 1, line) for at, line in zip(sent, (0, 0, 64), strict=True)),
    ]
    assert tokens["handed_on"][0] == (passed + 1, (0,)) == (read, (0,))
    assert reads[:3] == [(read + 1, 0), (read + 2, 0), (read + 3, 64)]
    assert [at - 1 for at, _ in tokens["way0"][:3]] == [first] * 3  # two elements and the stop
    assert [at - 1 for at, _ in tokens["way1"][:3]] == [second, second, last]
    assert merge == max(tokens["way0"][0][0], tokens["way1"][0][0])
    assert tokens["merged"][0][0] == merge + 6


def test_the_elements_and_sums_arrive_as_on_the_page(tokens: Tokens) -> None:
    *elements, end = table("element of B")
    for row, (merged, product) in zip(
        elements, zip(tokens["merged"], tokens["products"], strict=False), strict=False
    ):
        column, value = re.findall(r"column (\d): (\d+)", row[0])[0]
        assert (int(row[3]), (int(column), int(value))) == (merged[0], merged[1][1::2])
        assert (int(row[5]), (int(column), int(row[4]))) == (product[0], product[1][1::2])
    assert (int(end[3]), int(end[5])) == (tokens["merged"][5][0], tokens["products"][5][0])
    assert f"at the multiplier in cycle {tokens['merged'][6][0]}." in PAGE
    sums = [(int(row[2]), (int(row[0]), int(row[1].split("= ")[-1]))) for row in table("column of Z")]
    assert sums == [(at, word[1::2]) for at, word in tokens["sums"][:3]]


def test_a_long_row_has_the_operations_of_the_page() -> None:
    rows = str(DOCS.parent / "examples" / "three_rows.mtx")
    report = fiberscope.simulate("gamma", rows, settings={**ALONE, "pe.radix": 2})
    tasks, merge, multiply, partial = (
        report.operations[name] for name in ("tasks", "merge", "multiply", "partial_merge")
    )
    assert f"{tasks} tasks instead of {fiberscope.simulate('gamma', rows).operations['tasks']}" in PAGE
    assert f"{merge} `merge`, {multiply} `multiply` and {partial} `partial_merge`" in PAGE


@pytest.mark.parametrize("row", table("parameter, shipped value"), ids=lambda row: row[0])
def test_a_raised_parameter_gives_the_cycles_of_the_page(row: list[str]) -> None:
    matrix = re.findall(r"`(uniform:[^`]*)`", row[-1]) or [UNIFORM]
    runs = re.findall(r"`([\w.]+=[\w. =]+)`(?::| )*([\d,]+)", row[-1])
    cycles = []
    for settings, number in runs:
        changes = dict(change.split("=") for change in settings.split())
        cycles.append(fiberscope.simulate("gamma", matrix[0], settings=changes).cycles)
        assert f"{cycles[-1]:,}" == number.rstrip(",")
    assert len(cycles) == 2
    assert cycles[1] < cycles[0]


def test_the_accuracy_is_that_of_the_validation() -> None:
    shown = table("A times A")
    rows = (
        (DOCS / "validation.md")
        .read_text(encoding="utf-8")
        .split("\ngamma:\n", 1)[1]
        .split("\nextensor:", 1)[0]
    )
    for matrix, published, ours, error, version in shown:
        (line,) = [
            row
            for row in rows.splitlines()
            if re.match(rf"\| cycles \| {re.escape(matrix)}[ ,].*\| simple \|", row)
        ]
        assert line.split(" | ")[4:7] == [published, ours, error.replace(" ", "")]
        assert ("run elsewhere" in line) == (version == "this version, on another computer")
    for matrix, published, ours, error in table("A times A | published bytes"):
        assert f"traffic, bytes | {matrix} | simple" in rows
        assert f"| {published} | {ours} | {error.replace(' ', '')} |" in rows
    first = (DOCS / "accuracy.md").read_text(encoding="utf-8")
    for _, cycles in table("settings | cycles of wiki-Vote"):
        assert f"| {cycles} |" in first + rows
    mean = sum(abs(float(row[3].rstrip(" %"))) for row in shown) / len(shown)
    assert f"is {mean:.1f} %:" in PAGE
    validation = (DOCS / "validation.md").read_text(encoding="utf-8")
    more = [
        float(share)
        for share in re.findall(r"^\| gamma \|(?: [^|]* \|){3} \+([\d.]+)% \|$", validation, re.MULTILINE)
    ]
    (span,) = re.findall(r"the DRAM model takes ([\d.]+) to ([\d.]+) % longer", PAGE)
    assert more
    assert all(float(span[0]) <= share <= float(span[1]) for share in more)
    figures = read_published(accelerators.find("gamma"))
    settings = figures.settings | figures.models["simple"]
    assert all(f"`{name}={value}`" in PAGE for name, value in settings.items())


def test_the_events_of_the_reference_are_those_of_the_example(tokens: Tokens) -> None:
    dispatch, fetched = tokens["tasks"][0][0] - 1, tokens["fetches"][3][0] - 1
    read, merge = tokens["handed_on"][0][0], tokens["merged"][0][0] - 6
    assert f"t is {dispatch}, f is {fetched}, r is {read} and m is {merge}." in REFERENCE


def test_the_counters_of_the_reference_are_those_of_a_report() -> None:
    rows = REFERENCE.split("\n| component | counter |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    shown: dict[str, set[str]] = {}
    for row in rows:
        part, counters, _ = (cell.strip().strip("`") for cell in row.split("|")[1:-1])
        of_part = shown.setdefault(part or list(shown)[-1], set())
        of_part |= set(re.findall(r"\w+", counters))
    shown["fibercache.bank"] |= {"fetch_hits", "fetch_misses", "write_hits", "write_misses"}
    shown["fibercache.bank"] |= {"consume_hits", "consume_joins", "consume_misses"}
    seen: dict[str, set[str]] = {}
    for name, component in fiberscope.simulate("gamma", UNIFORM).components.items():
        kind = re.sub(r"\d+(?=\.|$)", "", name.removeprefix("gamma."))
        seen.setdefault("network" if kind.startswith("network") else kind, set()).update(component.counters)
    assert shown == {kind: counters for kind, counters in seen.items() if kind != "memory.channel"}
