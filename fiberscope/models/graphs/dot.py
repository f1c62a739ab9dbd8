"""Parse the text of a graph file into statements, each with its line and column.

Supports the part of Graphviz DOT that graphs of the Sparse Abstract Machine use. Not supported: undirected
edges, ports of nodes (a colon is part of a name), HTML texts, ``+`` between texts, keywords in upper case.

Source: graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import NoReturn

from fiberscope.base.errors import InputError

_SHOWN_CHARACTERS = 20  # characters of an invalid token in a message
_MAX_DEPTH = 100  # nested subgraphs
_GRAPH = 'digraph SAM { ... } of nodes (5 [type="mul"]) and edges (5 -> 4 [type="val"])'

# blank: also a byte order mark, and lines of a preprocessor (#); bare: a hyphen before ``>`` is not part of
# the name; other: the rest of a line that begins with no token, which the parser refuses
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n\f]+|\A\ufeff|//[^\n]*|\#[^\n]*|/\*.*?\*/)
    |"(?P<quoted>(?:\\.|[^"\\])*)"
    |(?P<bare>-?[\w.*+:]+(?:-(?!>)[\w.*+:]+)*)
    |(?P<mark>->|[][{}=,;])
    |(?P<other>[^\n]+)""",
    re.S | re.X,
)
_NAME_TOKENS = ("bare", "quoted")
DEFAULTS = ("node", "edge", "graph")  # statements that set default attributes of drawings


@dataclass(frozen=True)
class Location:
    """A location in a graph file; a graph made in Python has none.

    Args:
        file: name of the file.
        line, column: both from 1.
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return the location in the notation of compilers."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class NodeStatement:
    """Statement of a node, as in ``5 [type="mul"]``.

    Args:
        name: name of the node.
        attributes: the attributes in brackets, by name.
        location: where the statement begins.
    """

    name: str
    attributes: dict[str, str]
    location: Location


@dataclass(frozen=True)
class EdgeStatement:
    """Statement of an edge, as in ``5 -> 4 [type="crd"]``.

    Args:
        source, target: names of the nodes.
        attributes: the attributes in brackets, by name.
        location: where the statement begins.
    """

    source: str
    target: str
    attributes: dict[str, str]
    location: Location


@dataclass
class Digraph:
    """The statements of a file.

    Args:
        settings: attributes of the graph itself, by name.
        nodes, edges: the statements of nodes and of edges, each in the order of the file. A statement of
            default attributes, such as ``node [shape=box]``, is a node with a name in ``DEFAULTS``.
    """

    settings: dict[str, str] = field(default_factory=dict)
    nodes: list[NodeStatement] = field(default_factory=list)
    edges: list[EdgeStatement] = field(default_factory=list)


def parse(text: str, file: str) -> Digraph:
    """Return the statements of a graph file.

    Args:
        text: the text of the file.
        file: name of the file, for locations and messages.

    Raises:
        InputError: the text has a syntax error; with line and column, at the end of the text with the line.
    """
    return _Reader(text, file).graph()


class _Reader:
    """Recursive-descent parser of the tokens of a text."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]  # offsets of their starts
        self._tokens = [match for match in _TOKEN.finditer(text) if match.lastgroup != "blank"]
        self._index = 0
        self._depth = 0  # of nested subgraphs

    def graph(self) -> Digraph:
        """Parse all statements of the text."""
        graph = Digraph()
        self._accept("strict")
        self._expect("digraph")
        if not self._accept("{"):
            self._name()
            self._expect("{")
        while not self._accept("}"):
            self._parse_statement(graph)
            self._accept(";")
        if self._index < len(self._tokens):
            self._refuse()
        return graph

    def _parse_statement(self, graph: Digraph, *, nested: bool = False) -> None:
        """Parse a statement; settings within a subgraph only concern the drawing and are ignored."""
        location = self._locate_next_token()
        ends = [self._end(graph)]
        # ``name = value`` sets an attribute of the graph; a subgraph cannot be assigned to
        if ends[0][1] and self._accept("="):
            value = self._name()
            if not nested:
                graph.settings[ends[0][0][0]] = value
            return
        while self._accept("->"):
            ends.append(self._end(graph))
        attributes = self._parse_attributes()
        if len(ends) == 1 and ends[0][1]:
            graph.nodes.append(NodeStatement(ends[0][0][0], attributes, location))
        for (sources, _), (targets, _) in pairwise(ends):
            graph.edges += [EdgeStatement(*pair, attributes, location) for pair in product(sources, targets)]

    def _end(self, graph: Digraph) -> tuple[list[str], bool]:
        """Return the nodes at an end of an edge, and whether the end is a name and not a subgraph."""
        is_subgraph = self._accept("subgraph")
        if is_subgraph and not self._is_next("{"):
            self._name()
        if not self._accept("{"):
            if is_subgraph:
                self._refuse()
            return [self._name()], True
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise InputError(
                f"{self._locate_next_token()}: more than {_MAX_DEPTH} subgraphs lie within each other"
            )
        # the statements of the subgraph go to the same lists, behind these counts
        counts = len(graph.nodes), len(graph.edges)
        while not self._accept("}"):
            self._parse_statement(graph, nested=True)
            self._accept(";")
        self._depth -= 1
        names = [node.name for node in graph.nodes[counts[0] :]]
        names += [end for edge in graph.edges[counts[1] :] for end in (edge.source, edge.target)]
        return [name for name in dict.fromkeys(names) if name not in DEFAULTS], False

    def _parse_attributes(self) -> dict[str, str]:
        attributes = {}
        while self._accept("["):
            while not self._accept("]"):
                name = self._name()
                self._expect("=")
                attributes[name] = self._name()
                self._accept(",", ";")
        return attributes

    def _accept(self, *texts: str) -> bool:
        """Consume the next token if it is one of these."""
        is_next = self._is_next(*texts)
        self._index += is_next
        return is_next

    def _is_next(self, *texts: str) -> bool:
        # the text of a token includes its quotes, so a quoted name is no keyword or mark
        return self._index < len(self._tokens) and self._tokens[self._index][0] in texts

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._refuse()

    def _name(self) -> str:
        """Consume the next token, which must be a name or a value."""
        token = self._tokens[self._index] if self._index < len(self._tokens) else None
        if token is None or token.lastgroup not in _NAME_TOKENS:
            self._refuse()
        self._index += 1
        quoted = token["quoted"]
        return token[0] if quoted is None else quoted.replace('\\"', '"').replace("\\n", "\n")

    def _locate_next_token(self) -> Location:
        """Return the location of the next token; at the end of the text, the last line."""
        at = self._tokens[self._index].start() if self._index < len(self._tokens) else self._lines[-1]
        line = bisect_right(self._lines, at)
        return Location(self._file, line, at - self._lines[line - 1] + 1)

    def _refuse(self) -> NoReturn:
        location = self._locate_next_token()
        if self._index == len(self._tokens):
            end = f"{location.file}:{location.line}"
            raise InputError(f"{end}: the file ends within the graph; it should end with }}")
        text = self._tokens[self._index][0][:_SHOWN_CHARACTERS]
        raise InputError(f"{location}: cannot read {text!r}; a graph file is {_GRAPH}")
