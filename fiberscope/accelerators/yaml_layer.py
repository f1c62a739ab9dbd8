"""A reader of parameter files in YAML, which keeps the line and the comment of each parameter.

The result is a *layer*: entries by dotted key, such as ``pe.count``. The file may also be the report of a
run; the layer then has the parameters that the run used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from fiberscope.accelerators.errors import ConfigurationError


@dataclass(frozen=True)
class Entry:
    """The value of one parameter, with its origin.

    Args:
        value: the value as read, before any check.
        origin: file and line, or option, for error messages: ``my.yaml:3`` or ``--set``.
        comment: comments of the file above the parameter, on its line, and aligned with it below.
    """

    value: object
    origin: str
    comment: str = ""

    @classmethod
    def wrap(cls, value: object, origin: str = "settings") -> Entry:
        """Return a value as an entry; a value that is an entry keeps its origin."""
        return value if isinstance(value, Entry) else cls(value, origin)


class _Scalars(yaml.resolver.Resolver):
    """YAML 1.2 scalars: ``off`` is text, not false; ``1e9`` is a number; ``1:30`` is not ninety."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  (the class attribute PyYAML asks for)


class _Loader(_Scalars, yaml.SafeLoader):
    """The YAML loader in Python, which has better error messages and refuses aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.composer.ComposerError(problem="an alias; write out the value", problem_mark=mark)
        return super().compose_node(parent, index)


class _FastLoader(_Scalars, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # may be lacking
    """The YAML loader in C, ten times as fast; ``_Loader`` reads again each text that it refuses."""


# Texts that both loaders would read differently, and that are left to ``_Loader``: aliases, which the loader
# in C resolves; tabs, unusual tags and line ends, and keys by ``?``, of which it accepts more; and missing
# values within brackets, to which it gives another position.
_SLOW_SYNTAX = re.compile(
    r":\s*[,}\]]|[\t\ufeff\x85\u2028\u2029]|^---|[|>]\S*#|(?:^|[\s,:\[{-])(?:\*\S|\?|!(?!\w+\s))",
    re.MULTILINE,
)


def _resolve(tag: str, pattern: str, first: str, *, empty: bool = False) -> None:
    """Add a rule for scalars without quotes; of the rules for a first character, the first match decides."""
    starts = [*first, ""] if empty else list(first)
    _Scalars.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), starts)


_resolve("bool", "true|false", "tf")
_resolve("null", "null|~|", "n~", empty=True)
# The pattern of ``float`` also matches whole numbers: ``int`` comes first, longer numbers become floats.
_resolve("int", r"[-+]?(?:0|[1-9][0-9_]{0,29})", "-+0123456789")
_resolve("float", r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?", "-+0123456789")


def read_yaml(path: Path, name: str | None = None) -> dict[str, Entry]:
    """Read the parameters of a YAML file or of a report.

    Args:
        path: path of the file.
        name: name of the file in error messages; the path by default.

    Returns:
        An entry for each parameter by dotted key, in the order of the file; none for an empty file.

    Raises:
        ConfigurationError: if the file cannot be read, is not YAML, has a key twice, or is not a mapping.
    """
    name = name or str(path)
    text = read_text(path, name)
    config = _report_config(text)
    if config is not None:
        return {key: Entry(value, f"{name}: config") for key, value in _flatten(config)}
    with yaml_errors(name):
        node = compose(text)
        comments = _comments(text.splitlines())
        entries: dict[str, Entry] = {}
        for key, line, value in _leaves(node, "", name):
            if key in entries:
                raise ConfigurationError(f"{name}:{line}: {key} is given twice")
            entries[key] = Entry(value, f"{name}:{line}", comments.get(line, ""))
    return entries


def _report_config(text: str) -> Mapping[str, object] | None:
    """Return the configuration in the report of a run; None if the text is not a report."""
    if not text.startswith("{"):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    reported = str(document.get("schema")).startswith("fiberscope-report-")
    return document["config"] if reported and isinstance(document.get("config"), dict) else None


def _flatten(section: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def read_document(path: Path, name: str) -> object:
    """Return the content of a file as plain data; None for an empty file.

    Args:
        path: path of the file.
        name: name of the file in error messages.

    Raises:
        ConfigurationError: if the file cannot be read, or is not YAML.
    """
    text = read_text(path, name)
    with yaml_errors(name):
        node = compose(text)
        return None if node is None else construct(node)


def compose(text: str) -> yaml.Node | None:
    """Parse a YAML text to nodes with line and column; return None for an empty text.

    Raises:
        yaml.YAMLError, ValueError, RecursionError: if the text is not YAML. Call this function within
            ``yaml_errors``, which turns them into a ``ConfigurationError``.
    """
    if not _SLOW_SYNTAX.search(text):
        with suppress(yaml.YAMLError, ValueError):
            return _composed(text, _FastLoader)
    return _composed(text, _Loader)


def _composed(text: str, loader: type[_Loader | _FastLoader]) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(text, loader)
    return node


@contextmanager
def yaml_errors(name: str) -> Iterator[None]:
    """Turn the errors of the YAML parser into errors of one line, while the context is active.

    Args:
        name: name of the file in error messages.

    Raises:
        ConfigurationError: if the block raises an error of the parser.
    """
    try:
        yield
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        is_template = error.problem_mark and _TEMPLATE.search(error.problem_mark.buffer or "")
        template = "a template of Jinja, not YAML; fill it in first"
        fault = template if is_template else f"not YAML: {error.problem}"
        raise ConfigurationError(f"{name}:{line}: {fault}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # A ``ConfigurationError`` is a ``ValueError`` too, with a message that is final.
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"{name}: not YAML: {' '.join(str(error).split())}") from error


def read_scalar(text: str) -> object:
    """Return the value of a text as in a YAML file.

    The result is None for an empty text, and the text itself for a mapping or for a text that is not YAML.
    """
    try:
        node = compose(text)
        if node is None:
            return None
        return text if isinstance(node, yaml.MappingNode) else construct(node)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text


def read_text(path: Path, name: str) -> str:
    """Return the text of a file.

    Args:
        path: path of the file.
        name: name of the file in error messages.

    Raises:
        ConfigurationError: if the file cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{name}: cannot read the configuration: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{name}: not UTF-8 text, at byte {error.start}") from error
    except ValueError as error:  # a null character in the path
        raise ConfigurationError(f"{name!r}: cannot read the configuration: {error}") from error


def _leaves(node: yaml.Node | None, prefix: str, name: str) -> Iterator[tuple[str, int, object]]:
    """Yield dotted key, line and value of each entry of nested mappings that is not itself a mapping."""
    if node is None:
        return
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1
        raise ConfigurationError(
            f"{name}:{line}: expected parameters as 'key: value', found {_describe(node)}"
        )
    for key_node, value_node in node.value:
        key = f"{prefix}{key_node.value}"
        if isinstance(value_node, yaml.MappingNode):
            yield from _leaves(value_node, f"{key}.", name)
        else:
            yield key, key_node.start_mark.line + 1, construct(value_node)


def construct(node: yaml.Node) -> object:
    """Return the value of a node as plain data; call this function within ``yaml_errors``, as ``compose``."""
    loader = _Loader("")
    try:
        value: object = loader.construct_object(node, deep=True)
        return value
    finally:
        loader.dispose()


def _describe(node: yaml.Node) -> str:
    return "a list" if isinstance(node, yaml.SequenceNode) else f"'{' '.join(str(node.value).split())[:40]}'"


_TEMPLATE = re.compile(r"\{%.*%\}")  # a statement of Jinja, which Timeloop's front end evaluates
# A ``#`` after a space within quotes is taken for a comment too.
_COMMENT = re.compile(r"(?:^|\s)#(?P<text>.*)$")


def _comments(lines: list[str]) -> dict[int, str]:
    """Return the comments on each line, counted from 1: the comment lines above it, the comment beside it,
    and the comments below that are aligned with that comment or further right.
    """
    comments: dict[int, list[str]] = {}
    above: list[str] = []
    open_comment: tuple[int, int] | None = None  # line and column of the comment that may go on below
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line)
        text = match["text"].strip() if match else ""
        column = match.start("text") if match else -1
        if match and not line[: column - 1].strip():
            if open_comment and column >= open_comment[1]:
                comments[open_comment[0]].append(text)
            else:
                above.append(text)
            continue
        if line.strip():
            comments[number] = [*above, text]
        above = []
        open_comment = (number, column) if match else None
    return {number: " ".join(text for text in texts if text) for number, texts in comments.items()}
