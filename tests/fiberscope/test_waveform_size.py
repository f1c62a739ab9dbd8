"""A waveform that will be large is announced while it is written, and only if its length is open."""

from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.commands import waveform_size
from fiberscope.commands.waveform_size import add_size_warning
from fiberscope.run.api import Waveform
from fiberscope.sim.partial_files import partial

MIB = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.vcd"


def grow(path: Path, size: int) -> None:
    with partial(path).open("ab") as file:
        file.truncate(size)


def test_said_from_how_the_file_grows_and_again_only_when_that_doubles(path, capsys):
    told = []
    progress = add_size_warning(lambda *news: told.append(news), Waveform(path))

    def reach(done: int) -> str:
        progress("simulating", done, 100)
        progress("cycles", 7 * done, 0)
        return capsys.readouterr().err

    assert reach(0) == ""  # no file is there yet
    grow(path, 20 * MIB)
    assert reach(4) == ""  # too early to tell
    said = reach(10)
    assert said.startswith(f"fiberscope: the waveform {path} will be about 200 MiB; --vcd-window START:END")
    assert said.count("\n") == 1
    assert reach(11) == ""
    assert told[-2:] == [("simulating", 11, 100), ("cycles", 77, 0)]
    grow(path, 160 * MIB)
    assert "will be about 400 MiB" in reach(40)  # it grows faster than it did
    assert reach(41) == ""


@pytest.mark.parametrize("reached", [(2, 500, 1000), (50, 350, 0)])  # cycles are limited; a small file
def test_a_small_one_is_not_worth_a_word(path, capsys, reached):
    done, cycles, limit = reached
    progress = add_size_warning(lambda *_news: None, Waveform(path))
    grow(path, 4 * MIB)
    progress("simulating", done, 100)
    progress("cycles", cycles, limit)
    assert capsys.readouterr().err == ""


def test_one_that_is_large_already_is_told_at_once(path, capsys):
    progress = add_size_warning(lambda *_news: None, Waveform(path))
    grow(path, 100 * MIB)
    progress("simulating", 1, 100)
    progress("cycles", 7, 0)
    assert "about 10,000 MiB" in capsys.readouterr().err


def test_who_bounds_it_or_wants_quiet_is_left_alone(path):
    def tell(*_news):
        raise AssertionError

    assert add_size_warning(tell, None) is tell
    assert add_size_warning(tell, Waveform(path, window=(1, 9))) is tell
    assert add_size_warning(tell, Waveform(path, cycles=9)) is tell
    assert add_size_warning(None, Waveform(path)) is None


def test_a_run_says_it(path, capsys, monkeypatch):
    monkeypatch.setattr(waveform_size, "LARGE_BYTES", 1)
    monkeypatch.setattr(waveform_size, "KNOWN_SHARE", 0)
    matrix = "uniform:rows=300,cols=300,nonzeros=3000,seed=5"  # its waveform is several buffers of a mebibyte
    assert cli.run(["sim", "gamma", matrix, "--vcd", str(path), "--set", "pe.count=4"]) == 0
    assert f"the waveform {path} will be about" in capsys.readouterr().err
