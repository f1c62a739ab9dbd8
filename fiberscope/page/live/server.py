"""Web server process of the live view: stores events and pushes them to pages."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from multiprocessing.connection import Connection
from typing import Any, Literal

import uvicorn
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fiberscope.page.document import page
from fiberscope.page.live import HOST
from fiberscope.page.live.history import History

MAX_COMMAND_BYTES = 4096
MAX_PENDING_EVENTS = 64  # a page with more pending events must reconnect
SHUTDOWN_SECONDS = 2  # time for pages to receive the last event
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'none'",
}


class Command(BaseModel):
    """A command of a page. It contains no file names: the run chooses them (see ``Recordings``).

    ``cycles`` is the number of cycles of ``step``, ``kind`` the file of ``record``, ``component`` the name of
    ``select``. Other commands ignore them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Literal["pause", "continue", "step", "record", "stop", "select"]
    cycles: int = Field(default=1, ge=1, le=1_000_000_000)
    kind: Literal["waveform", "timeline"] = "waveform"
    component: str = Field(default="", max_length=300)


class RequestFilter:
    """Middleware that rejects requests caused by other web sites or by other host names.

    Args:
        app: the protected application.
        port: the port of the server.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request to the application, or answer with status 403."""
        if scope["type"] == "http" and (reason := self._find_rejection(Request(scope))):
            await PlainTextResponse(reason, 403, HEADERS)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _find_rejection(self, request: Request) -> str:
        """Return the reason to reject a request; empty if it is accepted.

        The Host must be this server, so that no foreign name that resolves to this computer is accepted. The
        Origin must be this server too; only a GET may lack it, as browsers omit it for requests of the same
        site.
        """
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self._hosts:
            return "the Host of the request is not this computer"
        if origin not in {f"http://{host}", *([None] if request.method == "GET" else [])}:
            return "the Origin of the request is another site"
        return ""


class OpenPages:
    """The open pages, each with a queue of pending events.

    Args:
        link: the link to the run, which receives the number of pages.
    """

    def __init__(self, link: Connection) -> None:
        self._history = History()
        self._link = link
        self._queues: set[asyncio.Queue[str | None]] = set()

    def _send_count(self) -> None:
        with suppress(OSError):
            self._link.send({"do": "viewers", "count": len(self._queues)})

    def publish(self, event: str, data: Mapping[str, Any]) -> None:
        """Record an event, and push it to all pages."""
        self._history.add(event, data)
        for queue in list(self._queues):
            self._push(queue, _format_event(event, data))

    def end(self) -> None:
        """End the events of all pages."""
        for queue in list(self._queues):
            self._push(queue, None)

    def _push(self, queue: asyncio.Queue[str | None], text: str | None) -> None:
        """Queue an event, or the end of all events (None); a page with a full queue must reconnect."""
        try:
            queue.put_nowait(text)
        except asyncio.QueueFull:
            self._queues.discard(queue)  # ``events`` then ends the response, and the page connects again

    async def events(self) -> AsyncIterator[str]:
        """Yield all recorded and future events as server-sent events."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_PENDING_EVENTS)
        self._queues.add(queue)  # at once with the history, so that no event is lost or sent twice
        past_events = [_format_event(event, data) for event, data in self._history.events()]
        self._send_count()
        try:
            yield "retry: 500\n\n"  # a page that loses the connection tries again after 500 ms
            for text in past_events:
                yield text
            while queue in self._queues and (new_event := await queue.get()) is not None:
                yield new_event
        finally:
            self._queues.discard(queue)
            self._send_count()


def _format_event(event: str, data: Mapping[str, Any]) -> str:
    return f"event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def make_application(
    token: str, port: int, pages: OpenPages, link: Connection, page_data: Mapping[str, str]
) -> ASGIApp:
    """Return the web application: the page, its stream of events, and its commands.

    Args:
        token: the secret first segment of all paths.
        port: the port of the server.
        pages: the open pages.
        link: the link to the run, for commands.
        page_data: the data of the page: its kind and its title.
    """

    def check_token(request: Request) -> None:
        # In constant time, so that the time of an answer says nothing about the token. As bytes, because a
        # text that is not ASCII would raise an error.
        if not secrets.compare_digest(request.path_params["token"].encode(), token.encode()):
            raise _WrongTokenError

    async def document(request: Request) -> Response:
        check_token(request)
        return HTMLResponse(page(page_data, page_data["title"], connects=True), headers=HEADERS)

    async def events(request: Request) -> Response:
        check_token(request)
        return StreamingResponse(pages.events(), media_type="text/event-stream", headers=HEADERS)

    async def command(request: Request) -> Response:
        check_token(request)
        body = b""  # read piece by piece, so that an endless command does not fill the memory
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_COMMAND_BYTES:
                return JSONResponse({"error": "the command is too long"}, 413, HEADERS)
        try:
            link.send(Command.model_validate_json(body).model_dump())
        except ValidationError as error:
            return JSONResponse({"error": str(error.errors()[0]["msg"])}, 400, HEADERS)
        return JSONResponse({}, headers=HEADERS)

    async def reject(_request: Request, _error: Exception) -> Response:
        return PlainTextResponse("the token of the address is wrong", 403, HEADERS)

    routes = [
        Route("/{token}/", document),
        Route("/{token}/events", events),
        Route("/{token}/command", command, methods=["POST"]),
    ]
    return RequestFilter(Starlette(routes=routes, exception_handlers={_WrongTokenError: reject}), port)


class _WrongTokenError(Exception):
    """The token of a request is invalid."""


class _Server(uvicorn.Server):
    """A server that leaves signals to the run."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


def serve(listener: socket.socket, token: str, page_data: Mapping[str, str], link: Connection) -> None:
    """Serve in a process until the run closes its end of the link.

    Args:
        listener: a bound socket.
        token, page_data: as for ``make_application``.
        link: carries events as pairs of name and data, and commands.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, whose end then ends the server
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pages = OpenPages(link)
    app = make_application(token, listener.getsockname()[1], pages, link, page_data)
    config = uvicorn.Config(
        app,
        log_config=None,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    asyncio.run(_serve(_Server(config), listener, pages, link))


async def _serve(server: uvicorn.Server, listener: socket.socket, pages: OpenPages, link: Connection) -> None:
    """Publish the events of the run while the server runs; end it when the run closes the link."""

    def receive() -> None:
        try:
            event, data = link.recv()
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(link.fileno())
            pages.end()
            server.should_exit = True
            return
        pages.publish(event, data)

    asyncio.get_running_loop().add_reader(link.fileno(), receive)
    await server.serve(sockets=[listener])
