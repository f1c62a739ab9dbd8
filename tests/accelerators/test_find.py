"""An accelerator is found by its name, or in a file of the user's; what is wrong with one costs a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fiberscope import accelerators
from fiberscope.accelerators.configuration import ConfigurationError

MACHINE = Path(__file__).parents[2] / "examples" / "inner_product" / "machine.py"


def test_an_accelerator_is_found_by_its_name() -> None:
    assert [accelerators.find(name).name for name in accelerators.names()] == accelerators.names()


def test_an_unknown_accelerator_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"no accelerator is called gamm; did you mean gamma\?"):
        accelerators.find("gamm")


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    mine = tmp_path / "machine.py"
    text = MACHINE.read_text(encoding="utf-8")
    mine.write_text(text)
    assert accelerators.find(str(mine)).workers == "lane.intersector"
    mine.write_text(text.replace('workers="lane.intersector"', 'workers="lane.multiplier"'))
    found = accelerators.find(str(mine))
    assert (found.workers, found.shipped) == ("lane.multiplier", tmp_path / "config.yaml")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\n", "{file}: it should have an Accelerator, called ACCELERATOR"),
        ("ACCELERATOR = 'gamma'\n", "{file}: it should have an Accelerator, called ACCELERATOR"),
        ("x = 1\n\ny = x / 0\n", "{file}:3: ZeroDivisionError: division by zero"),
        ("\nraise SystemExit(5)\n", "{file}:2: SystemExit: 5"),
        ("x = 1\nclass A\n", "{file}:2: SyntaxError: expected ':' (machine.py, line 2)"),
        (
            "import nothing_of_the_kind\n",
            "{file}:1: ModuleNotFoundError: No module named 'nothing_of_the_kind'",
        ),
    ],
)
def test_a_file_that_is_no_machine_costs_one_line(tmp_path: Path, source: str, message: str) -> None:
    mine = tmp_path / "machine.py"
    mine.write_text(source)
    with pytest.raises(ConfigurationError) as raised:
        accelerators.find(str(mine))
    assert str(raised.value) == message.format(file=mine)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no such file"):
        accelerators.find(str(tmp_path / "mine.py"))
