"""Reads the text of a graph file into its statements, by ``dot.lark``; every word knows its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from fiberscope.errors import InputError

__all__ = ["Digraph", "EdgeStatement", "NodeStatement", "Place", "parse"]

_SHOWN = 20  # characters of what cannot be read


@dataclass(frozen=True)
class Place:
    """A line and a column of a file, both from 1 on; a graph made in Python has no place."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """As compilers say it."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class NodeStatement:
    """``5 [type="mul"]``."""

    name: str
    attributes: dict[str, str]
    place: Place


@dataclass(frozen=True)
class EdgeStatement:
    """``5 -> 4 [type="crd"]``."""

    source: str
    target: str
    attributes: dict[str, str]
    place: Place


@dataclass
class Digraph:
    """The statements of a file, in their order."""

    settings: dict[str, str] = field(default_factory=dict)
    nodes: list[NodeStatement] = field(default_factory=list)
    edges: list[EdgeStatement] = field(default_factory=list)


def parse(text: str, file: str) -> Digraph:
    """The statements of a graph file.

    Raises:
        InputError: the text is no such file; with line and column.
    """
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise InputError(_refused(error, text, file)) from error
    found: Digraph = _Statements(file).transform(tree)
    return found


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("dot.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="graph", parser="lalr", propagate_positions=True)


def _refused(error: UnexpectedInput, text: str, file: str) -> str:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return f"{file}:{text.count(chr(10)) + 1}: the file ends within the graph; it should end with }}"
    if isinstance(error, UnexpectedCharacters):
        found = text[error.pos_in_stream or 0 :][:_SHOWN].splitlines()[0]
    else:
        found = str(getattr(error, "token", ""))[:_SHOWN]
    wanted = 'digraph SAM { ... } of nodes (5 [type="mul"]) and edges (5 -> 4 [type="val"])'
    return f"{file}:{error.line}:{error.column}: cannot read {found!r}; a graph file is {wanted}"


class _Statements(Transformer[Token, Digraph]):
    """Makes statements of the tree."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def quoted(self, children: Sequence[Token]) -> Token:
        token = children[0]
        text = str(token)[1:-1].replace('\\"', '"').replace("\\n", "\n")
        return Token.new_borrow_pos(token.type, text, token)

    def bare(self, children: Sequence[Token]) -> Token:
        return children[0]

    def attribute(self, children: Sequence[Token]) -> tuple[str, str]:
        return str(children[0]), str(children[1])

    def attributes(self, children: Sequence[tuple[str, str]]) -> dict[str, str]:
        return dict(children)

    def setting(self, children: Sequence[Token]) -> tuple[str, str]:
        return str(children[0]), str(children[1])

    def node(self, children: Sequence[Any]) -> NodeStatement:
        name, attributes = children[0], children[1] if len(children) > 1 else {}
        return NodeStatement(str(name), attributes, self._place(name))

    def edge(self, children: Sequence[Any]) -> list[EdgeStatement]:
        attributes = children[-1] if isinstance(children[-1], dict) else {}
        names = [child for child in children if isinstance(child, Token)]
        place = self._place(names[0])
        return [EdgeStatement(str(a), str(b), attributes, place) for a, b in pairwise(names)]

    def graph(self, children: Sequence[Any]) -> Digraph:
        found = Digraph()
        for child in children:
            if isinstance(child, NodeStatement):
                found.nodes.append(child)
            elif isinstance(child, list):
                found.edges += child
            elif isinstance(child, tuple):
                found.settings[child[0]] = child[1]
        return found

    def _place(self, token: Token) -> Place:
        return Place(self._file, token.line or 0, token.column or 0)
