"""Commands that run in this process, in a folder of their own: what they print, and how they refuse."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fiberscope import cli


@pytest.fixture
def run_command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command; its result is the exit code, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.run(words)
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def printed(run_command: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    """Runs a command that succeeds; its result is the command's stdout."""

    def run(*words: str) -> str:
        code, out, err = run_command(*words)
        assert code == 0, err
        return out

    return run


@pytest.fixture
def refusal(run_command: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    """Runs a command that ends with exit code 2 and prints nothing; its result is the line on stderr."""

    def run(*words: str) -> str:
        code, out, err = run_command(*words)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        return err

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
