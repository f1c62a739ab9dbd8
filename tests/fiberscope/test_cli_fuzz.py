"""Whatever one types: no traceback, no hang, one line on stderr for bad input, exit code 0, 2 or 3."""

import contextlib
import io
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fiberscope import accelerators, cli
from fiberscope.accelerators.configuration import leaf_keys

KEYS = list(leaf_keys(accelerators.find("gamma").configuration))
MATRIX = "uniform:rows=4,cols=4,nonzeros=6"
SMALL = ["--set", "pe.count=2", "--set", "pe.radix=4", "--cycle-limit", "2000", "-q"]

words = st.text(st.sampled_from(string.printable + "\x00\x1b\u00b2\u0664\u20ac\U0001f600"), max_size=12)
numbers = st.sampled_from([0, 1, 2, 3, 7, 16, 64, 100, 1000, 4096, 65536, 10**20]).map(str)
units = st.sampled_from(["", "", " B", "KiB", " MiB", "TB", "Hz", "GHz", "GiB/s", "ns", "ps", "x"])
scalars = st.sampled_from(["-1", "0.5", "1e9", "1e400", "nan", "true", "off", "[1]", "{}", "*a", "&a"])
choices = st.sampled_from(["dram", "simple", "DDR4_2133", "HBM3_6400", "RoBaRaCoCh", "cache", "affinity"])
values = numbers | st.builds(str.__add__, numbers, units) | scalars | choices | words
known = st.builds("{}={}".format, st.sampled_from(KEYS), values)
settings_given = known | known | st.builds("{}={}".format, words, words) | words
matrices = st.sampled_from([MATRIX, "a.mtx", "LFAT5", ".", "/dev/null", "uniform:", "rmat:scale=3"]) | words
command_words = st.sampled_from(["sim", "list", "info", "gamma", MATRIX, "--set", "-q", "--cycle-limit", "9"])
banners = st.builds("%%MatrixMarket matrix {}".format, st.text(max_size=80)).map(str.encode)
yaml_like = st.text(st.sampled_from("pe:count{}[],\n -#&*!1\"'"), max_size=40).map(str.encode)


def outcome(arguments: list[str]) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(arguments)
    return code, err.getvalue()


def check(arguments: list[str]) -> None:
    code, err = outcome(arguments)
    assert code in (0, 2, 3)
    assert err.count("\n") == 1 if code == 2 else "Traceback" not in err


@pytest.fixture(autouse=True)
def _here(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(here / "cache"))


fuzzed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@fuzzed
@given(st.lists(settings_given, max_size=3))
@example(["memory.bandwidth=1 B"])
@example(["clock=999999937"])
@example(["clock=2"])
def test_any_settings(given_settings: list[str]) -> None:
    options = [word for setting in given_settings for word in ("--set", setting)]
    check(["sim", "gamma", MATRIX, *SMALL, *options])


@fuzzed
@given(matrices, st.none() | matrices)
def test_any_matrices(a: str, b: str | None) -> None:
    check(["sim", *SMALL, "--", "gamma", a, *([b] if b else [])])


@fuzzed
@given(st.lists(command_words | words, max_size=5))
def test_any_words(arguments: list[str]) -> None:
    check([*arguments, *(["--cycle-limit", "50"] if arguments[:1] == ["sim"] else [])])


@fuzzed
@given(st.binary(max_size=120) | banners)
def test_any_file(content: bytes) -> None:
    Path("a.mtx").write_bytes(content)
    check(["sim", "gamma", "a.mtx", *SMALL])


@fuzzed
@given(st.binary(max_size=60) | yaml_like)
def test_any_configuration_file(content: bytes) -> None:
    Path("my.yaml").write_bytes(content)
    check(["sim", "gamma", MATRIX, *SMALL, "--config", "my.yaml"])


@fuzzed
@given(st.just("0:9") | words, st.just("gamma") | words, words)
@example("0:9", "gamma", "a\x00b")
def test_any_waveform_options(window: str, scope: str, name: str) -> None:
    name = name.replace("/", "")
    check(["sim", "gamma", MATRIX, *SMALL, f"--vcd={name}", f"--vcd-window={window}", f"--vcd-scope={scope}"])


def test_planted_a_traceback_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("fiberscope.run.api.simulate", broken)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        check(["sim", "gamma", MATRIX])
