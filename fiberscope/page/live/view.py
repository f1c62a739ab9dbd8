"""The run's end of the live view: the address, the process of the server, and the link to it."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.base.extras import missing
from fiberscope.page.live import HOST

__all__ = ["LiveView"]

LIBRARIES = ("starlette", "uvicorn")
TOKEN_BYTES = 16
LAST_PORT = 65535
LEAVE_SECONDS = 5  # for the server to end after the last page has taken the last event


class LiveView:
    """A server in a process of its own, on this computer alone; a context manager that ends the server.

    Args:
        port: a number; 0 is a free one.
        title: of the page.
        kind: of the page: ``live`` for a run, ``debugging`` for a debugger, ``sweeping`` for a sweep.

    Raises:
        InputError: the port is no number or cannot be had, the extra ``live`` is not installed, or the
            system cannot fork.
    """

    def __init__(self, port: str, title: str, kind: str = "live") -> None:
        listener = _bound(port)
        with listener:
            _require_libraries()
            self._token = secrets.token_urlsafe(TOKEN_BYTES)
            self.port = listener.getsockname()[1]
            self.viewers, self.is_lost = 0, False
            self._sending = threading.Lock()  # a debugger sends from two threads
            context = get_context("fork")
            self.link, theirs = context.Pipe()
            arguments = listener, {"kind": kind, "title": title}, theirs
            self._server = context.Process(target=self._serve, args=arguments, daemon=True)
            with theirs, warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
                self._server.start()

    def _serve(self, listener: socket.socket, shown: Mapping[str, str], link: Connection) -> None:
        from fiberscope.page.live.server import serve  # noqa: PLC0415  (only this process needs the libraries)

        self.link.close()
        serve(listener, self._token, shown, link)

    @property
    def address(self) -> str:
        """Address of the page, with its token."""
        return f"http://{HOST}:{self.port}/{self._token}/"

    def __enter__(self) -> LiveView:
        """Say the address on stderr."""
        print(f"Live view: {self.address}", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *_raised: object) -> None:
        """End the server, once the open pages have taken the last event."""
        self.link.close()
        self._server.join(LEAVE_SECONDS)
        if self._server.is_alive():
            self._server.kill()

    @contextmanager
    def failures_shown(self) -> Iterator[None]:
        """Show an error that ends the context on the page, as the end."""
        try:
            yield
        except BaseException as error:
            self.end((str(error) or "interrupted").splitlines())
            raise

    def end(self, lines: list[str]) -> None:
        """Show how the run or the sweep ended."""
        self.send("end", {"lines": lines})

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        """Push an event to the pages; a server that is gone costs the view and not the run."""
        try:
            with self._sending:
                self.link.send((event, data))
        except OSError:
            self.is_lost = True

    def commands(self, seconds: float = 0.0) -> list[dict[str, Any]]:
        """Return the commands of the pages since the last call; wait so long for a message."""
        received: list[dict[str, Any]] = []
        try:
            while self.link.poll(seconds):
                command, seconds = self.link.recv(), 0.0
                if command["do"] == "viewers":
                    self.viewers = command["count"]
                else:
                    received.append(command)
        except (OSError, EOFError):
            self.is_lost = True
        return received


def _require_libraries() -> None:
    """Refuse a system that cannot fork, and one without the extra.

    Raises:
        InputError: naming what is missing.
    """
    if not hasattr(os, "fork"):
        raise InputError("--live: the live view forks a process, which this system cannot do")
    for library in LIBRARIES:
        if find_spec(library) is None:
            raise InputError(missing(library))


def _bound(port: str) -> socket.socket:
    """Return a socket that listens.

    Raises:
        InputError: the port is no number, in use, or not allowed.
    """
    if not (port.isdecimal() and int(port) <= LAST_PORT):
        raise InputError(f"--live {port}: a port is a number from 0 to {LAST_PORT}; none is a free one")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, int(port)))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = "in use" if error.errno == errno.EADDRINUSE else "not to be had"
        raise InputError(
            f"--live {port}: the port is {reason}; give another one, or none for a free one"
        ) from error
    return listener
