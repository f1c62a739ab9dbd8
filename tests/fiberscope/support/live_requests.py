"""Requests to the server of a live view."""

import http.client
import json
import urllib.parse
from typing import Any

from fiberscope.page.live.view import LiveView


def path(view: LiveView, name: str = "") -> str:
    return urllib.parse.urlsplit(view.address).path + name


def ask(view: LiveView, method: str, where: str, body: str = "", **headers: str) -> tuple[int, str, Any]:
    """Status, text and headers of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=60)
    own = {"Origin": f"http://127.0.0.1:{view.port}"} if method == "POST" else {}
    connection.request(method, where, body, {**own, **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def order(view: LiveView, body: object, where: str = "command", **headers: str) -> tuple[int, str]:
    return ask(view, "POST", path(view, where), json.dumps(body), **headers)[:2]
