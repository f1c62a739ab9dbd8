"""A Yosys process that executes a sequence of commands: the module pyosys, or the program."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fiberscope.hw.rtl.tools.simulator import HdlError

_SCRIPT = "commands"  # a named pipe, so that Yosys waits for further commands
_PROGRAM = f"from pyosys import libyosys as yosys; yosys.run_pass('script {_SCRIPT}', yosys.Design())"
_OUTPUT_FILE = "answer.txt"
_END_MARK = "fiberscope-end-of-answer"
START_POLL_SECONDS = 0.01


def find_yosys() -> list[str]:
    """Return the command that executes the Yosys commands in the file ``commands`` of its working folder.

    The module pyosys has priority over the program.

    Raises:
        HdlError: Yosys is not installed.
    """
    if importlib.util.find_spec("pyosys") is not None:
        return [sys.executable, "-c", _PROGRAM]
    if program := shutil.which("yosys"):
        return [program, "-s", _SCRIPT]
    raise HdlError(
        "Yosys is not installed, which proofs need: pip install 'fiberscope[area]', or apt install yosys"
    )


class YosysSession:
    """A Yosys process that keeps its design between calls of ``run``. The caller ends it with ``close``.

    The constructor waits until Yosys has started.

    Args:
        folder: existing working folder of the commands, in which no other session runs or has run.

    Raises:
        HdlError: Yosys is not installed, or does not start.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        pipe = folder / _SCRIPT
        os.mkfifo(pipe)
        self._process = subprocess.Popen(
            find_yosys(),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._commands = os.fdopen(self._open(pipe), "w", encoding="utf-8", buffering=1)

    def _open(self, pipe: Path) -> int:
        """Open the pipe for writing when the process reads it; a blocking open would wait for a dead process.

        Raises:
            HdlError: the process has ended.
        """
        while True:
            with suppress(OSError):  # nothing reads the pipe yet: a non-blocking open for writing fails
                descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(descriptor, True)
                return descriptor
            if self._process.poll() is not None:
                assert self._process.stdout is not None
                output = self._process.stdout.read().split("\n")
                raise HdlError(f"Yosys does not start: {next(filter(None, reversed(output)), 'no output')}")
            time.sleep(START_POLL_SECONDS)

    def run(self, commands: Iterable[str], seconds: float) -> str:
        """Run commands; return the output of the last.

        After an error the process has ended, and the session can only be closed.

        Args:
            commands: at least one command of Yosys.
            seconds: time limit of all of them.

        Raises:
            HdlError: Yosys does not accept a command or a file.
            TimeoutError: the commands exceed the time limit; the process is killed.
        """
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            return self._run_commands(commands)
        except HdlError:
            if self._process.wait() == -signal.SIGKILL:
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()

    def _run_commands(self, commands: Iterable[str]) -> str:
        """Run commands; return the output of the last, once Yosys has logged the mark after it."""
        # only the last command's output goes to the file; ``tee -o`` replaces the file each time
        *first, last = commands
        text = "".join(f"{command}\n" for command in first)
        with suppress(BrokenPipeError):  # the process has ended; its output says why
            self._commands.write(f"{text}tee -q -o {_OUTPUT_FILE} {last}\nlog {_END_MARK}\n")
        assert self._process.stdout is not None
        log: list[str] = []
        for line in self._process.stdout:
            if line.strip() == _END_MARK:
                return (self.folder / _OUTPUT_FILE).read_text(encoding="utf-8", errors="replace")
            log.append(line)
        file = self.folder / _OUTPUT_FILE
        log += file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
        errors = [line.strip() for line in log if "ERROR" in line]
        raise HdlError(f"Yosys: {errors[-1] if errors else 'the process ended'}")

    def close(self) -> None:
        """Kill the process and close its pipes. Commands in execution are lost."""
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._commands.close()
        assert self._process.stdout is not None
        self._process.stdout.close()
