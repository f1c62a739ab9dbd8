"""Client of the live view's server: the address, the server process, and the link to the server."""

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
from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.page.live import HOST

LIBRARIES = ("starlette", "uvicorn")
TOKEN_BYTES = 16
MAX_PORT = 65535
EXIT_SECONDS = 5  # longest wait for the end of the server


class LiveView:
    """A local server process of a page; a context manager that ends the server.

    The constructor forks the server, which answers from then on. The context prints the address.

    Args:
        port: a number; 0 selects a free port.
        title: the title of the page.
        kind: ``live`` for a run, ``debugging`` for a debugger, ``sweeping`` for a sweep.

    Attributes:
        port: the port as a number.
        link: this process's end of the pipe to the server. A process that is forked later must close it, so
            that the server sees its end.
        viewers: the number of open pages, as of the last call of ``commands``.
        is_lost: whether the server is gone, as of the last call of ``send`` or ``commands``.

    Raises:
        InputError: the port is invalid or unavailable, the extra ``live`` is not installed, or the system
            cannot fork.
    """

    def __init__(self, port: str, title: str, kind: str = "live") -> None:
        listener = _bind(port)
        with listener:
            _require_libraries()
            self._token = secrets.token_urlsafe(TOKEN_BYTES)
            self.port = listener.getsockname()[1]
            self.viewers, self.is_lost = 0, False
            self._send_lock = threading.Lock()  # a debugger sends from two threads
            context = get_context("fork")
            self.link, remote_end = context.Pipe()
            arguments = listener, {"kind": kind, "title": title}, remote_end
            self._server = context.Process(target=self._serve, args=arguments, daemon=True)
            with remote_end, warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # forks in processes with threads
                self._server.start()

    def _serve(self, listener: socket.socket, page_data: Mapping[str, str], link: Connection) -> None:
        from fiberscope.page.live.server import serve  # noqa: PLC0415  (needed in this process only)

        self.link.close()  # else the server would never see the end of the run
        serve(listener, self._token, page_data, link)

    @property
    def address(self) -> str:
        """Return the address of the page, with its token."""
        return f"http://{HOST}:{self.port}/{self._token}/"

    def __enter__(self) -> LiveView:
        """Print the address to stderr."""
        print(f"Live view: {self.address}", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *_raised: object) -> None:
        """End the server when the open pages have received the last event, at most ``EXIT_SECONDS`` later."""
        self.link.close()
        self._server.join(EXIT_SECONDS)
        if self._server.is_alive():
            self._server.kill()

    @contextmanager
    def show_failures(self) -> Iterator[None]:
        """Show an error that ends the context on the page, and raise it again; Ctrl-C counts as an error."""
        try:
            yield
        except BaseException as error:
            self.show_end((str(error) or "interrupted").splitlines())
            raise

    def show_end(self, lines: list[str]) -> None:
        """Show lines of text about the end of the run or sweep."""
        self.send("end", {"lines": lines})

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        """Push an event to the pages; the loss of the server does not affect the run.

        Args:
            event: the kind of event.
            data: the content, which can be written as JSON.
        """
        try:
            with self._send_lock:
                self.link.send((event, data))
        except OSError:
            self.is_lost = True

    def commands(self, seconds: float = 0.0) -> list[dict[str, Any]]:
        """Return the new commands of the pages, waiting up to ``seconds`` for a message.

        This also updates ``viewers``. The message may be about viewers only, so that the wait can end early
        without a command. Call it regularly: the server must be able to write into the pipe.
        """
        received: list[dict[str, Any]] = []
        try:
            while self.link.poll(seconds):
                command, seconds = self.link.recv(), 0.0  # only the first message is waited for
                if command["do"] == "viewers":
                    self.viewers = command["count"]
                else:
                    received.append(command)
        except (OSError, EOFError):
            self.is_lost = True
        return received


def _require_libraries() -> None:
    """Check that the system can fork and that the libraries are installed.

    Raises:
        InputError: a requirement is missing; the message names it.
    """
    if not hasattr(os, "fork"):
        raise InputError("--live: the live view forks a process, which this system cannot do")
    for library in LIBRARIES:
        if find_spec(library) is None:
            raise InputError(missing(library))


def _bind(port: str) -> socket.socket:
    """Return a listening socket on this computer's own address; port 0 selects a free port.

    Raises:
        InputError: the port is no number, in use, or not allowed.
    """
    number = read_whole_number(port)
    if number is None or number > MAX_PORT:
        raise InputError(
            f"--live {port}: a port is a number from 0 to {MAX_PORT}; leave it out for a free port"
        )
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, number))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = "in use" if error.errno == errno.EADDRINUSE else "not available"
        raise InputError(
            f"--live {port}: the port is {reason}; give another one, or none for a free one"
        ) from error
    return listener
