"""What ``fiberscope results`` shows of any query."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
from fiberscope.base.errors import InputError
from fiberscope.commands import results as command
from fiberscope.results.store import Store
from tests.fiberscope.store.test_store import cycles, filled, row

ODD = (
    "SELECT [1, 2] AS \":x: [b]\", DATE '2020-01-02' AS day, "
    "1.5::DECIMAL(9, 2) AS twice, 3 AS twice, 'NaN'::DOUBLE AS x"
)


FILES = {
    "plot": None,
    "figure": None,
    "against": None,
    "figure_width": "page",
    "archive": None,
    "compare": False,
    "mean": None,
}


def results(store: Path | str, **asked: object) -> None:
    """Run the command with these options."""
    command.results(address=store, **{**FILES, **asked})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Store(tmp_path, make=True)
    return tmp_path


def test_values_and_names_of_any_kind_are_shown(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(store, sql=ODD)
    head, _line, row = capsys.readouterr().out.splitlines()
    assert head.startswith(":x: [b]")
    assert row.split() == ["[1,", "2]", "2020-01-02", "1.50", "3", "nan"]


def test_a_query_that_is_printed_loads_no_pandas(store: Path) -> None:
    program = f"""
import sys
from fiberscope import cli
assert cli.run(["results", {str(store)!r}]) == 0
sys.exit("pandas" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0


def test_a_date_in_json_is_text(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(store, sql="SELECT DATE '2020-01-02' AS day, [1] AS list", json=Path("-"))
    assert json.loads(capsys.readouterr().out) == [{"day": "2020-01-02", "list": [1]}]


def test_json_is_json_whatever_the_numbers(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = "'NaN'::DOUBLE AS x, sum(5::BIGINT) AS total, 1.5::DECIMAL(9, 2) AS part"
    nested = "['inf'::DOUBLE, 1] AS list, {'a': 'NaN'::FLOAT} AS one"
    results(store, sql=f"SELECT {numbers}, {nested}", json=Path("-"))
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == [{"x": None, "list": [None, 1], "total": 5, "one": {"a": None}, "part": 1.5}]


def test_a_list_in_csv_costs_a_line(store: Path) -> None:
    with pytest.raises(InputError, match=r"as CSV: Unsupported Type:list<.*>; --json has lists"):
        results(store, sql="SELECT [1] AS list", csv=Path("-"))


@pytest.mark.parametrize(
    "name", ["a[1]", "a*", "a?", "~t", "k=3", "a\\[1]", "a{1,2}", "**", "s3:x", "file:a", "a%31", "a#1"]
)
def test_a_name_of_a_store_is_no_pattern(name: str, here: Path) -> None:
    """``a1`` fits the patterns, and has another number of rows."""
    filled("a1", range(5)).gather()
    filled(name, range(2)).gather()
    assert cycles(Store(name)) == [0, 1]
    assert Store(name).frame().columns.tolist() == Store("a1").frame().columns.tolist()


def test_an_error_of_a_run_does_not_repeat_the_query(store: Path) -> None:
    with pytest.raises(InputError, match="Conversion Error") as raised:
        results(store, sql="SELECT CAST('x' AS INTEGER) FROM range(3)")
    assert "SELECT" not in str(raised.value)


@pytest.mark.parametrize("address", ["https://127.0.0.1:9/runs.csv", "s3://bucket/runs.parquet"])
def test_a_query_asks_no_network_for_an_extension(address: str, store: Path) -> None:
    with pytest.raises(InputError, match="requires the extension httpfs"):
        results(store, sql=f"SELECT * FROM '{address}'")


@pytest.mark.parametrize(
    ("where", "advice"),
    [
        ("pe.count > 1", "; the column of pe.count is pe_count"),
        (
            "pe__count > 1 AND bank.ways = 2",
            "; the column of pe__count is pe_count; the column of bank.ways is bank_ways",
        ),
        ("pe_cuont > 1", ""),
        ("pe_count > (", ""),
    ],
)
def test_a_parameter_in_the_spelling_of_another_place_names_its_column(
    where: str, advice: str, tmp_path: Path
) -> None:
    filled(tmp_path, range(2), **{"pe.count": 4, "bank.ways": 2})
    with pytest.raises(InputError, match="Error: ") as raised:
        results(str(tmp_path), where=where)
    assert str(raised.value).partition("; the column")[1:] == advice.partition("; the column")[1:]


def test_latex_has_every_row_and_no_empty_column(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT 'a_b' AS name, 0 AS cycles, NULL AS nothing, 1 AS twice, 2 AS twice"
    results(store, sql=query, latex=Path("-"))
    lines = capsys.readouterr().out.splitlines()
    assert r"name & cycles & twice & twice \\" in lines
    assert r"\begin{tabular}{lrrr}" in lines
    assert r"a\_b & 0 & 1 & 2 \\" in lines
    results(store, sql=query, latex=store / "t.tex")
    assert "a_b" in capsys.readouterr().out
    assert (store / "t.tex").read_text(encoding="utf-8").splitlines() == lines


def test_markdown_is_a_table(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(store, sql="SELECT 'a' AS name, 'b' AS other, 1234 AS cycles", markdown=True)
    out = capsys.readouterr().out
    assert "| --- | --- | ---: |" in out
    assert "| a | b | 1,234 |" in out


def test_estimated_cycles_have_their_half_width_and_the_sample_its_text() -> None:
    import pyarrow as pa

    sample = json.dumps({"windows": 5, "window_cycles": 100, "seed": 1})
    columns = {
        "workload": ["a", "b", "c"],
        "cycles": [1000, 2000, None],
        "cycles_low": [970, None, None],
        "cycles_high": [1030, None, None],
    }
    plain = pa.table({**columns, "sampling": [sample, None, None]})
    shown = command._add_spreads(plain)
    assert shown.to_pydict() == {
        "workload": ["a", "b", "c"],
        "cycles": ["1,000 +- 3%", "2,000", ""],
        "sampling": ["5 windows of 100 cycles, seed 1", None, None],
    }
    assert command._add_spreads(pa.table(columns)).column_names == ["workload", "cycles"]
    whole = pa.table({"cycles": [1000], "cycles_low": [970]})
    assert command._add_spreads(whole) is whole


@pytest.mark.parametrize(("count", "last"), [(40, "39"), (41, "and 1 more; --csv FILE has all of them")])
def test_a_terminal_shows_forty_rows(count: int, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa

    command._show_table(pa.table({"x": list(range(count))}), markdown=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].strip() == last
    assert len(lines) == 2 + count
    command._show_table(pa.table({"x": list(range(count))}), markdown=True)
    assert f"| {count - 1} |" in capsys.readouterr().out


def test_rows_of_one_source_are_in_an_order_that_does_not_depend_on_how_they_arrived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for folder, order in (("a", range(9)), ("b", reversed(range(9)))):
        made = Store(tmp_path / folder, make=True)
        for number in order:
            made.add(*row(number))
            made.gather()
        results(tmp_path / folder, sources=True, columns="cycles")
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert len(shown[0].splitlines()) > 9
