"""What make says on a machine that lacks something: one line, before anything is made."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PASS_ON = f'*) exec {sys.executable} "$@";; esac\n'
OLD = '#!/bin/sh\ncase "$*" in *version_info*) exit 1;; --version) echo Python 3.9.2;; esac\n'
WITHOUT_VENV = '#!/bin/sh\ncase "$*" in *ensurepip*) exit 1;; ' + PASS_ON
WITHOUT_HEADERS = '#!/bin/sh\ncase "$*" in *get_path*) echo nowhere;; ' + PASS_ON


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile and nothing made yet."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "fiberscope").mkdir()
    for file in ("pyproject.toml", "setup.py"):
        (tmp_path / file).touch()
    return tmp_path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make as from a shell, even if these tests run under another make."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("script", "arguments", "line"),
    [
        (
            OLD,
            ["PYTHON=./python"],
            "make: Python 3.11 or newer is needed, and ./python is Python 3.9.2; choose",
        ),
        (
            "",
            ["PYTHON=./none"],
            "make: Python 3.11 or newer is needed, and ./none is missing "
            "(on Debian: apt install python3-dev python3-venv gcc); choose another",
        ),
        (
            WITHOUT_VENV,
            ["PYTHON=./python"],
            "make: ./python has no venv module (on Debian: apt install python3-venv)",
        ),
        (
            WITHOUT_HEADERS,
            ["PYTHON=./python"],
            "make: the headers of ./python are missing (on Debian: apt install",
        ),
        (
            "",
            [f"PYTHON={sys.executable}", "CC=none"],
            "make: there is no C compiler none (on Debian: apt install",
        ),
    ],
)
def test_a_lacking_machine_is_told_in_one_line(
    checkout: Path, script: str, arguments: list[str], line: str
) -> None:
    (checkout / "python").write_text(script)
    (checkout / "python").chmod(0o755)
    outcome = make(checkout, "test", *arguments)
    assert outcome.returncode == 2
    first, *rest = outcome.stderr.splitlines()
    assert first.startswith(line)
    assert all(other.startswith("make: ***") for other in rest)
    assert not (checkout / ".venv").exists()


def test_bytecode_is_kept_whatever_is_usual_on_the_machine(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (checkout / "python").write_text('#!/bin/sh\necho "kept: <$PYTHONDONTWRITEBYTECODE>"\nexit 1\n')
    (checkout / "python").chmod(0o755)
    assert "kept: <>" in make(checkout, "test", "PYTHON=./python").stderr


def test_sim_without_a_machine_or_matrix_says_what_to_write(checkout: Path) -> None:
    for arguments in (["sim"], ["sim", "ACC=gamma"], ["wave", "MTX=wiki-Vote"]):
        outcome = make(checkout, *arguments)
        assert outcome.returncode == 2
        assert outcome.stderr.startswith("make: say which machine and which matrix, as in make sim ACC=gamma")


def test_sim_passes_everything_on(checkout: Path) -> None:
    options = ["ACC=gamma", "MTX=some/a.mtx.gz", "B=b.npz", "SET=pe.count=4 clock=2GHz", "VCD=1", "EXACT=1"]
    commands = make(checkout, "-n", "sim", *options).stdout
    command = " ".join(commands.replace("\\\n", " ").split())
    assert command.endswith(
        ".venv/bin/fiberscope sim 'gamma' 'some/a.mtx.gz' 'b.npz' --set 'pe.count=4' --set 'clock=2GHz' "
        "--vcd 'out/gamma-a-b.vcd' --exact --json 'out/gamma-a-b.json'"
    )


def test_make_alone_lists_the_targets(checkout: Path) -> None:
    shown = make(checkout).stdout
    for target in ("sim", "wave", "test", "test-all", "check", "bench", "clean"):
        assert f"  make {target} " in shown


def test_the_engine_is_compiled_once_and_by_those_alone_who_need_it(checkout: Path) -> None:
    assert make(checkout, "-n", "test").stdout.count("build_ext") == 1
    for target in ("docs", "lint"):
        commands = make(checkout, "-n", target).stdout
        assert "build_ext" not in commands
        assert "--editable" not in commands


def test_docs_and_lint_install_no_hdl_tools(checkout: Path) -> None:
    for target, needs in (("docs", "docs"), ("lint", "dev"), ("test", "rtl")):
        commands = make(checkout, "-n", target).stdout
        assert f"optional-dependencies {needs})" in commands
        assert ("verilator" in commands) == (needs == "rtl")


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("sim", "fiberscope sim gamma {name} {name} --set {name}"),
        ("convert", "fiberscope convert csr {name} {name} --set {name}"),
        ("model", "fiberscope model gamma {name} {name} --set {name}"),
        ("cosim", "fiberscope rtl loop merger gamma {name} {name} --set {name}"),
    ],
)
def test_what_make_is_given_is_a_word_of_the_shell_whatever_is_in_it(checkout, target, command):
    name = "it's;touch${IFS}ran;'"
    given = [f"{key}={name.replace('$', '$$')}" for key in ("MTX", "B", "SET", "TO")]
    done = make(checkout, "-n", target, "ACC=gamma", "FROM=csr", "BLOCK=merger", *given)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace("\\\n", " ").splitlines()
    words = next(shlex.split(line) for line in lines if f"fiberscope {command.split()[1]} " in line)
    assert " ".join(words).startswith(f".venv/bin/{command.format(name=name)}")
    assert not (checkout / "ran").exists()
