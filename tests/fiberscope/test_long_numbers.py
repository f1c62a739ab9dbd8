"""Numbers of many digits in texts of users: refused in a line, as any other text that is no number.

Python refuses to convert more than 4,300 digits, so a reader that only asks for digits ends in a traceback.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from fiberscope.base.errors import InputError
from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.commands import command_line
from fiberscope.commands.run_options import _parse_window
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.models.graphs import compile_expression, run
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.compiler.schedule import parse_copies, parse_splits
from fiberscope.models.graphs.formats import parse_formats
from fiberscope.models.graphs.gv_reader import graph_from_text, read_gv
from fiberscope.models.graphs.gv_writer import gv_text
from fiberscope.page.live.view import _bind
from fiberscope.rtl.select_block import parse_parameters
from fiberscope.workloads import WorkloadError, load
from fiberscope.workloads.spec import generate

EXAMPLES = Path(__file__).parents[2] / "examples" / "graphs"
NINES = "9" * 5000
READERS: dict[str, Callable[[str], object]] = {
    "split": lambda number: parse_splits(f"i:{number}"),
    "copies": lambda number: parse_copies(f"i:{number}"),
    "order": lambda number: parse_formats([f"C:ss:0,{number}"]),
    "third of two levels": lambda number: parse_formats([f"C:ss:0,1,{number}"]),
    "window": lambda number: _parse_window("--window", f"{number}:{number}"),
    "port": _bind,
    "generator": lambda number: generate(f"uniform:rows={number},cols=4,nonzeros=2"),
    "sizes": lambda number: generate(f"ones:shape={number}x4"),
}


@pytest.mark.parametrize("number", [NINES, "9" * 19, "\u0663", "-1", " ", ""], ids=lambda text: text[:19])
@pytest.mark.parametrize("reader", READERS)
def test_a_text_that_is_no_number_of_64_bits_is_refused(reader: str, number: str) -> None:
    with pytest.raises((InputError, ValueError)) as caught:
        READERS[reader](number)
    assert "Exceeds the limit" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["0", "7", "007", "9" * 18])
def test_a_number_of_64_bits_is_read(text: str) -> None:
    assert read_whole_number(text) == int(text)


def test_a_long_number_in_any_attribute_of_a_graph_is_refused_or_a_name() -> None:
    text = gv_text(read_gv(EXAMPLES / "fig13_split.gv"))
    for place in {place[1]: place for place in re.finditer(r'(\w+)="([^"]*)"', text)}.values():
        changed = f"{text[: place.start(2)]}{NINES}{text[place.end(2) :]}"
        with suppress(InputError):
            check(graph_from_text(changed, "g.gv"))
    assert " 0 [" in text
    check(graph_from_text(text.replace(" 0 [", f" {NINES} [").replace(" 0 ->", f" {NINES} ->"), "g.gv"))


def test_a_long_number_of_columns_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", NINES)
    assert command_line._columns() < 10**6


def test_a_long_parameter_of_a_block_is_refused() -> None:
    with pytest.raises((InputError, ValueError), match="write name=number"):
        parse_parameters(BLOCKS["merger"], [f"radix={NINES}"])


def test_an_integer_with_many_leading_zeros_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    lines = [
        "%%MatrixMarket matrix coordinate integer general",
        "1 2 2",
        f"1 1 {'0' * 5000}{2**53 + 2}",
        "1 2 -003",
    ]
    path.write_text("\n".join(lines))
    assert load(path).matrix.toarray().tolist() == [[2**53 + 2, -3]]


@pytest.mark.parametrize("number", ["nan", "inf", "-Infinity", "1e999"])
def test_a_scalar_of_a_graph_is_finite(number: str) -> None:
    graph = compile_expression("x(i) = a * b(i)", ["x:s", "b:s"]).graph
    with pytest.raises(InputError, match="a number has to be finite"):
        run(graph, {"a": number, "b": np.ones(3)})


@pytest.mark.parametrize("text", ["1_0", "\u0663"])
def test_a_number_of_pythons_grammar_alone_is_a_name(text: str) -> None:
    graph = compile_expression("x(i) = a * b(i)", ["x:s", "b:s"]).graph
    with pytest.raises(WorkloadError, match=text):
        run(graph, {"a": text, "b": np.ones(3)})


def test_a_path_is_a_file_even_if_its_name_is_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("5").write_text("%%MatrixMarket matrix coordinate real general\n3 1 1\n2 1 4\n")
    graph = compile_expression("x(i) = b(i)", ["x:s", "b:s"]).graph
    assert run(graph, {"b": Path("5")}).result.toarray().tolist() == [[0], [4], [0]]
