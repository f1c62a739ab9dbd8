"""Answers of a debugging session, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fiberscope.results.recording.waits import Wait, format_wait_chain
from fiberscope.run.debug.views import ComponentView, QueueView

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from fiberscope.run.debug.host import Stop

WIDTH = 110  # columns outside of a terminal
STOPS = {
    "cycle": "cycle {cycle:,}{place}",
    "until": "cycle {cycle:,}{place}: {text} holds",
    "break": "cycle {cycle:,}{place}: breakpoint {number}, {text}",
    "interrupted": "cycle {cycle:,}{place}: interrupted",
    "done": "cycle {cycle:,}{place}: the run is done",
    "deadlock": "cycle {cycle:,}{place}: {text}",
}


class Shown:
    """An answer: text, or renderables of rich, one below the other.

    ``data`` is the object that the answer presents.
    """

    def __init__(self, *parts: Any, data: object = None) -> None:  # noqa: ANN401  (renderables of rich)
        self.parts: tuple[RenderableType, ...] = parts
        self.data = data

    def show(self, console: Console) -> None:
        """Print the answer to a terminal."""
        if not console.is_terminal and not console.record:
            console.print(str(self), soft_wrap=True)
            return
        for part in self.parts:
            console.print(part, soft_wrap=isinstance(part, str))

    def __str__(self) -> str:
        """Return the answer as plain text."""
        if all(isinstance(part, str) for part in self.parts):
            return "\n".join(map(str, self.parts))
        console, text = _build_console(record=True)
        self.show(console)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the answer as HTML for a notebook."""
        console, _text = _build_console(record=True)
        self.show(console)
        code = '<pre style="line-height:normal">{code}</pre>'
        return console.export_html(inline_styles=True, code_format=code)


def _build_console(*, record: bool = False) -> tuple[Console, io.StringIO]:
    from rich.console import Console  # noqa: PLC0415  (it takes time to load)

    text = io.StringIO()
    options = {"markup": False, "emoji": False, "highlight": False, "force_jupyter": False}
    return Console(file=text, width=WIDTH, record=record, **options), text  # type: ignore[arg-type]


def _build_table(*headings: str, right: Sequence[int] = ()) -> Any:  # noqa: ANN401
    """Return an empty table of rich; the columns ``right`` are right-aligned."""
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE, pad_edge=False)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="right" if index in right else "left", overflow="fold")
    return table


def format_stop(stop: Stop, watched: Sequence[tuple[str, str]]) -> Shown:
    """Format the cycle of a stop, its cause (any but ``slice``), and the watched quantities."""
    place = stop.phase and f", {stop.phase}"
    lines = [
        STOPS[stop.reason].format(**vars(stop), place=place),
        *(f"{name}: {value}" for name, value in watched),
    ]
    return Shown("\n".join(lines), data=stop)


def format_components(views: Sequence[ComponentView]) -> Shown:
    """Format one component in full, or several components as a table."""
    if len(views) == 1:
        return _format_component(views[0])
    table = _build_table("component", "state", "since", "busy", "counters", right=(2, 3))
    for view in views:
        busy = f"{view.accounts.get('busy', 0):,}"
        table.add_row(view.name, view.state, f"{view.since:,}", busy, _pair_numbers(view.counters))
    return Shown(table, data=views)


def _format_component(view: ComponentView) -> Shown:
    peers = f", for {', '.join(view.peers[:3])}" if view.peers else ""
    more = f" and {len(view.peers) - 3} more" if len(view.peers) > 3 else ""
    lines = [
        f"{view.name} ({view.kind}), cycle {view.cycle:,} of clock {view.clock}",
        f"state: {view.state} since cycle {view.since:,}{peers}{more}",
        f"cycles: {_pair_numbers(view.accounts) or 'none'}",
        f"counters: {_pair_numbers(view.counters) or 'none'}",
        f"signals: {', '.join(f'{name} {value}' for name, value in view.signals.items()) or 'none'}",
    ]
    table = _build_table("port", "", "other end", "tokens", "of", "pushed", "popped", right=(3, 4, 5, 6))
    moved = [channel for channel in view.channels if channel.pushes]
    for channel in moved:
        capacity = "" if channel.capacity is None else f"{channel.capacity:,}"
        numbers = f"{channel.occupancy:,}", capacity, f"{channel.pushes:,}", f"{channel.pops:,}"
        table.add_row(channel.port, channel.direction, channel.peer, *numbers)
    unused = len(view.channels) - len(moved)
    if unused:
        lines.append(f"channels without a token so far: {unused}")
    return Shown("\n".join(lines), *([table] if moved else []), data=view)


def _pair_numbers(numbers: Any) -> str:  # noqa: ANN401
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items() if number)


def format_queue(queue: QueueView) -> Shown:
    """Format the tokens of a channel."""
    capacity = "" if queue.capacity is None else f" of {queue.capacity:,}"
    head = f"{queue.writer} to {queue.reader}: {len(queue.tokens):,}{capacity} tokens, {queue.protocol}"
    if not queue.tokens:
        return Shown(head, data=queue)
    numbers = range(len(queue.fields) + 2)
    table = _build_table("", "seen from", *queue.fields, right=numbers)
    for position, (arrival, words) in enumerate(queue.tokens):
        texts = [
            f"{word:#x}" if field == "address" else f"{word:g}" if isinstance(word, float) else f"{word:,}"
            for field, word in zip(queue.fields, words, strict=True)
        ]
        table.add_row(str(position), f"{arrival:,}", *texts)
    return Shown(head, table, data=queue)


def format_chain(chain: Sequence[Wait]) -> Shown:
    """Format a wait chain with a line per link."""
    return Shown(format_wait_chain(chain), data=chain)
