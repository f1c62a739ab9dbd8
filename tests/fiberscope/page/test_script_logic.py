"""The rules of the scripts of a page, by value: numbers of filters, units, scales, fronts and columns."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="the extra 'sweep' is not installed")

from studies import study

from fiberscope.page import page, study_data

RUNS = "const run = (number, x, y, workload = 'w') => ({ number, id: `${number}`, workload, x, y });"


@pytest.fixture(scope="module")
def tab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One tab for all: nothing here changes the page."""
    folder = tmp_path_factory.mktemp("logic")
    data = study_data(study(folder / "study"), "Logic")
    (folder / "study.html").write_text(page(data, "Logic"), encoding="utf-8")
    shown = browser.new_page(viewport={"width": 1400, "height": 1000})
    shown.goto((folder / "study.html").as_uri())
    yield shown
    shown.close()


def values(tab: Any, *expressions: str) -> list[Any]:
    return tab.evaluate(f"() => {{ {RUNS} return [{', '.join(expressions)}]; }}")


def test_a_unit_of_a_filter_is_its_factor(tab: Any) -> None:
    factors = {"": 1, "b": 1, "KiB": 2**10, "MiB": 2**20, "gib": 2**30, "kB": 1e3, "MB": 1e6, "GB": 1e9}
    factors |= {"k": 1e3, "m": 1e6, "G": 1e9, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "%": 0.01}
    tests = [
        f"Filter.parse('cycles = 3{unit}')({{ cycles: 3 * {factor} }})" for unit, factor in factors.items()
    ]
    assert values(tab, *tests) == [True] * len(factors)
    forms = {"2e5": 200_000, "1,500": 1500, "-2": -2, "1.5k": 1500, "5 KiB": 5120, "1e-3": 0.001}
    tests = [f"Filter.parse('cycles=\"{text}\"')({{ cycles: {number} }})" for text, number in forms.items()]
    assert values(tab, *tests) == [True] * len(forms)


def test_a_comparison_of_a_filter_holds_on_its_side(tab: Any) -> None:
    signs = {
        "=": (0, 1, 0),
        "!=": (1, 0, 1),
        "<": (1, 0, 0),
        "<=": (1, 1, 0),
        ">": (0, 0, 1),
        ">=": (0, 1, 1),
    }
    tests = [
        f"[2, 3, 4].map(cycles => Number(Filter.parse('cycles {sign} 3')({{ cycles }})))" for sign in signs
    ]
    assert [tuple(row) for row in values(tab, *tests)] == list(signs.values())
    missing = [f"Filter.parse('cycles {sign} 3')({{ cycles: null }})" for sign in signs]
    assert values(tab, *missing) == [False] * len(signs)
    run = "{ cycles: 3, workload: 'A b', status: 'done' }"
    texts = {
        "a": True,
        '"a b"': True,
        "a cycles>2": True,
        "a cycles>3": False,
        "c": False,
        'workload="A b"': True,
    }
    assert values(tab, *(f"Filter.parse('{text}')({run})" for text in texts)) == list(texts.values())


@pytest.mark.parametrize(
    ("unit", "texts"),
    [
        (
            "",
            {"0": "0", "1": "1", "9999": "9,999", "1234567": "1,234,567", "0.5": "0.5", "12345.6": "12,350"},
        ),
        ("", {"1e-4": "0.0001", "0.00005": "5.000e-5", "-2": "-2", "null": "", "''": "", "'x'": "x"}),
        ("bytes", {"1023": "1,023 B", "1024": "1 KiB", "1536": "1.5 KiB", "2 ** 50": "1,024 TiB"}),
        ("bytes/s", {"2 ** 30": "1 GiB/s"}),
        ("s", {"1": "1 s", "0.5": "500 ms", "1e-3": "1 ms", "2e-6": "2 us", "1e-6": "1 us", "5e-8": "50 ns"}),
        ("share", {"0.125": "12.5%", "1": "100%"}),
        ("pJ", {"999": "999 pJ", "1000": "1 nJ", "1e12": "1 J"}),
        ("um2", {"999999": "1,000,000 um2", "1e6": "1 mm2"}),
        ("Hz", {"1e9": "1 GHz", "1e12": "1,000 GHz"}),
        ("ops/s", {"1e6": "1 M ops/s", "2.5e12": "2.5 T ops/s"}),
    ],
)
def test_a_number_has_its_unit(tab: Any, unit: str, texts: dict[str, str]) -> None:
    assert values(tab, *(f"Format.value({number}, '{unit}')" for number in texts)) == list(texts.values())


def test_a_number_of_an_axis_is_short(tab: Any) -> None:
    assert values(tab, *(f"Format.tick('')({number})" for number in (5, 9999, 10_000, 2_500_000))) == [
        *("5", "9,999", "10k", "2.5M")
    ]
    assert values(tab, "Format.tick('bytes')(2048)") == ["2 KiB"]


def scale(role: str, unit: str, numbers: list[float], more: str = "") -> str:
    return f"Scale.of({{ type: 'number', role: '{role}', unit: '{unit}', label: 'x' }}, {numbers}{more})"


@pytest.mark.parametrize(
    ("role", "unit", "numbers", "kind", "domain", "ticks"),
    [
        ("measure", "", [1, 20], "linear", [0, 20], [0, 5, 10, 15, 20]),
        ("measure", "", [1, 20.5], "log", [1, 20.5], [1, 2, 5, 10, 20]),
        ("measure", "", [1, 158], "log", [1, 158], [1, 2, 5, 10, 20, 50, 100]),
        ("measure", "", [1, 170], "log", [1, 170], [1, 10, 100]),
        ("measure", "", [0, 3], "linear", [0, 3], [0, 0.5, 1, 1.5, 2, 2.5, 3]),
        ("measure", "", [-4, 4], "linear", [-4, 4], list(range(-4, 5))),
        ("measure", "", [0, 0], "linear", [-1, 1], [0]),
        ("measure", "bytes", [0, 4096], "linear", [0, 4096], [512 * number for number in range(9)]),
        ("measure", "bytes", [1024, 65536], "log", [1024, 65536], [2**power for power in range(10, 17)]),
        ("parameter", "", [2, 20], "linear", [2, 20], [2, 20]),
        ("parameter", "", [2, 22], "log", [2, 22], [2, 22]),
        ("parameter", "", [8, 8], "linear", [7, 9], [8]),
        ("parameter", "", list(range(1, 12)), "log", [1, 11], [1, 2, 5, 10]),
    ],
)
def test_a_scale_is_logarithmic_where_values_span_much(
    tab: Any, role: str, unit: str, numbers: list[float], kind: str, domain: list[float], ticks: list[float]
) -> None:
    (shown,) = values(tab, scale(role, unit, numbers))
    assert (shown["type"], shown["domain"]) == (kind, domain)
    assert shown["ticks"] == pytest.approx(ticks)


def test_a_label_has_its_unit_but_of_bytes_each_number_has(tab: Any) -> None:
    labels = [scale("measure", unit, [1, 2]) + ".label" for unit in ("", "Hz", "bytes", "bytes/s")]
    assert values(tab, *labels) == ["x", "x (Hz)", "x", "x"]
    assert values(tab, scale("measure", "", [1, 2], ", true") + ".type") == ["log"]


def test_columns_of_the_table_are_those_asked_for_or_those_that_differ(tab: Any) -> None:
    heads = "[...document.querySelectorAll('.runs thead th')].map(head => head.innerText)"
    names = "filter => Data.columns.filter(filter).map(column => column.label)"
    expected = f"({names})(c => c.shown || ['status', 'cycles', 'bottleneck'].includes(c.name))"
    (shown,), (columns,) = values(tab, heads), values(tab, expected)
    assert shown[2:] == columns
    assert set(columns) >= {"status", "cycles", "bottleneck", "pe.count", "fibercache.size"}
    assert len(columns) < tab.evaluate("Data.columns.length")


def test_a_roof_is_the_lower_of_memory_and_workers(tab: Any) -> None:
    both = "{ bandwidth: 4, peak: 8 }"
    assert values(
        tab, f"Roof.height(1, {both})", f"Roof.height(2, {both})", f"Roof.height(3, {both})",
        "Roof.height(3, { bandwidth: 4, peak: null })", "Roof.height(3, { bandwidth: null, peak: 8 })",
    ) == [4, 8, 8, 12, 8]  # fmt: skip
    points = f"Roof.outline({both}, [1, 5]).map(point => [point.intensity, point.height])"
    edge = f"Roof.outline({both}, [2, 5]).length"
    slope = "Roof.outline({ bandwidth: 4, peak: null }, [1, 5]).map(point => point.height)"
    assert values(tab, points, edge, slope) == [[[1, 4], [2, 8], [5, 8]], 2, [4, 20]]


def test_axes_are_written_by_their_own_columns(tab: Any) -> None:
    tab.evaluate("View.set({ show: 'front', x: 'cycles', y: 'traffic_bytes' })")
    tab.wait_for_selector("#chart svg")
    query = "`#chart [aria-label='${axis}-axis tick label'] text`"
    texts = f"axis => [...document.querySelectorAll({query})].map(text => text.textContent)"
    across, up = (tab.evaluate(texts, axis) for axis in "xy")
    assert not any("B" in text for text in across)
    assert all(text.endswith("B") or text == "0 B" for text in up)
    labels = "axis => document.querySelector(`#chart [aria-label='${axis}-axis label']`).textContent"
    assert "cycles" in tab.evaluate(labels, "x")
    assert "cycles" not in tab.evaluate(labels, "y")
    tab.evaluate("View.set({ show: '', x: '', y: '' })")


def test_groups_of_a_chart_are_at_most_as_many_as_colours(tab: Any) -> None:
    runs = "[...Array({}).keys()].map(number => ({{ pe_count: number }}))"
    for count, names in ((1, 1), (6, 6), (7, 6), (20, 6)):
        (groups,) = values(
            tab, f"Chart.groups('pe_count', {runs.format(count)}).map(g => [g.name, g.runs.length, g.colour])"
        )
        assert len(groups) == names == len({colour for _name, _runs, colour in groups})
        assert sum(size for _name, size, _colour in groups) == count
        assert (groups[-1][0] == "others") == (count > 6)
        assert groups[0][0] == "pe.count 0"


def test_a_page_begins_with_its_own_view_unless_a_link_has_another(browser: Any, tmp_path: Any) -> None:
    data = {**study_data(study(tmp_path / "study", 2), "View"), "view": {"show": "front"}}
    file = tmp_path / "view.html"
    file.write_text(page(data, "View"), encoding="utf-8")
    shown = browser.new_page()
    for link, view in (("", "front"), ("#show=cycles", "cycles")):
        shown.goto("about:blank")
        shown.goto(file.as_uri() + link)
        shown.wait_for_selector("[role=tab][aria-selected=true]")
        assert shown.get_attribute("[role=tab][aria-selected=true]", "id") == f"tab-{view}"
    shown.close()


def test_states_over_time_are_the_shares_of_each_stretch_one_above_the_other(tab: Any) -> None:
    """Counts of two families at three cycles: the areas are what was spent since the point before."""
    kinds = values(tab, "Bars.STATES.length")[0]
    draw = random.Random(3)
    counts = [[0] * (2 * kinds)]
    for _ in range(3):
        counts.append([number + draw.randrange(9) for number in counts[-1]])
    counts[2][kinds:] = counts[1][kinds:]  # nothing of the second family has passed
    counts[3][kinds:] = counts[1][kinds:]
    cycles, points = (0, 10, 25, 60), []
    for cycle, row in zip(cycles[1:], counts[1:], strict=True):
        points.append(f"{{ cycle: {cycle}, counts: {row} }}")
    (edges,) = values(tab, f"States.edges(['a', 'b'], [{', '.join(points)}])")
    found = {(edge["name"], edge["x"], edge["kind"], place % 2): edge for place, edge in enumerate(edges)}
    for family, name in enumerate("ab"):
        for number in range(1, 4):
            spent = [
                counts[number][family * kinds + kind] - counts[number - 1][family * kinds + kind]
                for kind in range(kinds)
            ]
            for kind in range(kinds):
                for end in (0, 1):
                    edge = found[name, cycles[number - 1 + end], kind, end]
                    total = sum(spent) or 1
                    assert edge["below"] == pytest.approx(sum(spent[:kind]) / total)
                    assert edge["above"] == pytest.approx(sum(spent[: kind + 1]) / total)


def test_points_of_states_are_thinned_and_the_newest_stays(tab: Any) -> None:
    grow = "((many) => d3.range(1, many + 1).reduce((all, at) => States.add(all, at, [at]), []))"
    for many in (1, 120, 121, 122, 400):
        (points,) = values(tab, f"{grow}({many})")
        assert points[-1] == {"cycle": many, "counts": [many]}
        assert min(many, 60) <= len(points) <= 120
        assert [point["cycle"] for point in points] == sorted({point["cycle"] for point in points})
    back = "States.add([{ cycle: 5, counts: [1] }, { cycle: 9, counts: [2] }], 9, [3])"
    assert values(tab, f"{back}.map((point) => point.cycle)") == [[5, 9]]
