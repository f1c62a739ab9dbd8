"""Syntax, imports and constants of modules, without running the modules."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MARK = "# cython: infer_types=True"  # the first line of a module that the build compiles
WRITTEN = "# Written by fiberscope.compiler from "  # first line of a generated file
GENERATED_MARKS = (WRITTEN, "# Written by fiberscope.pxd from ")  # also of version 0.2
COMMENT_PREFIX = "# C: "  # prefix of a comment for the generator
# Words for methods and classes; other words are C types.
KEYWORDS = {"cdef", "cpdef", "def", "final", "inline", "noexcept", "open"}


class UnsupportedError(ValueError):
    """An error for a construct that cannot be compiled, or wrong syntax.

    The message is one line with file and line number.
    """


@dataclass
class CompilerComment:
    """Content of a comment for the compiler, as in ``# C: cdef, count=long``.

    Attributes:
        keywords: entries without ``=``: ``KEYWORDS``, or a C type for all names of the statement.
        types: C types by name.
    """

    keywords: set[str]
    types: dict[str, str]

    def type_of(self, name: str) -> str | None:
        """Return the C type for a name: of the name itself, or of all names; None without either."""
        return self.types.get(name) or next(
            (keyword for keyword in self.keywords if keyword not in KEYWORDS), None
        )


class Module:
    """A Python file.

    Args:
        name: import name.
        path: the file.
        compiled: whether the module is compiled without the mark in its first line.

    Raises:
        UnsupportedError: the file has wrong syntax.
        OSError: the file cannot be read.
    """

    def __init__(self, name: str, path: Path, compiled: bool = False) -> None:
        self.name = name
        self.path = path
        self.text = path.read_text()
        try:
            self.tree = ast.parse(self.text)
        except SyntaxError as error:
            raise UnsupportedError(f"{path}:{error.lineno}: {error.msg}") from error
        self.pxd = path.with_suffix(".pxd")
        self.is_compiled = compiled or self.text.startswith(MARK)

    @cached_property
    def has_handwritten_pxd(self) -> bool:
        """Return whether the module has a hand-written ``.pxd``."""
        return self.pxd.is_file() and not self.pxd.read_text().startswith(GENERATED_MARKS)

    @cached_property
    def _comments(self) -> dict[int, list[str]]:
        """Return the comments for the compiler by line."""
        # By tokens, since a text may contain what looks like a comment
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
        return {
            line: [
                entry.strip() for entry in re.split("[;#]", comment.split(COMMENT_PREFIX)[1])[0].split(",")
            ]
            for line, comment in comments.items()
            if COMMENT_PREFIX in comment
        }

    def comment_at(self, node: ast.stmt) -> CompilerComment:
        """Parse the comment for the compiler at a statement, or at the head of a compound statement."""
        # A head may span lines; ``max`` below is for a body on the line of its head, as in ``if x: y``
        head = node.body[0].lineno - 1 if hasattr(node, "body") else node.end_lineno or node.lineno
        entries = [
            entry
            for line in range(node.lineno, max(head, node.lineno) + 1)
            for entry in self._comments.get(line, ())
        ]
        types = dict(entry.split("=", 1) for entry in entries if "=" in entry)
        return CompilerComment({entry for entry in entries if "=" not in entry}, types)

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Return the names of ``from`` imports, each with its module and its name there.

        Imports in functions and under ``TYPE_CHECKING`` count; imports of the form ``import x`` do not.
        """
        origins: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                module = self.absolute_name(node)
                origins |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}
        return origins

    def absolute_name(self, node: ast.ImportFrom) -> str:
        """Return the full name of the module of a ``from`` import."""
        # A package is its own ``__init__``, from which the first level leads to the package itself
        own_name = f"{self.name}.__init__" if self.path.stem == "__init__" else self.name
        packages = own_name.split(".")[: -node.level] if node.level else []
        return ".".join([*packages, *filter(None, [node.module])])

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Return the classes at the top level of the module."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """Return the functions at the top level of the module."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def assignments(self) -> dict[str, ast.expr | None]:
        """Return the names assigned at the top level, each with the expression of its value.

        None for a name without a value, for a name that is bound more than once, and for a name of a tuple
        whose elements are unknown. A name assigned only in ``if``, loops or functions is left out.
        """
        values: dict[str, ast.expr | None] = {}
        for node in self.tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                values[node.target.id] = node.value
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values[target.id] = node.value
                elif isinstance(target, ast.Tuple):
                    values |= _unpack(target, node.value)
        return {name: value if self._bindings[name] == 1 else None for name, value in values.items()}

    @cached_property
    def _bindings(self) -> Counter[str]:
        """Return how often the module binds or deletes each name, with each ``global`` of a function.

        Names of comprehensions count too, though the module does not see them.
        """
        bindings: Counter[str] = Counter()
        nodes: list[ast.AST] = [self.tree]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                bindings[node.id] += 1
            elif isinstance(node, ast.alias):
                bindings[node.asname or node.name.partition(".")[0]] += 1
            elif name := getattr(node, "name", None):  # a function, a class, a handler or a pattern
                bindings[name] += 1
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                nodes += ast.iter_child_nodes(node)
        for node in ast.walk(self.tree):
            bindings.update(node.names if isinstance(node, ast.Global) else ())
        return bindings

    def number_type(self, name: str) -> str | None:
        """Return the C type in the comment at a number's assignment or import; None without such a comment.

        A plain type, without ``NAME=``, counts only for an assignment to the name, not to a tuple.
        """
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
                return self.comment_at(node).type_of(name)
            if isinstance(node, ast.Assign | ast.ImportFrom) and name in self.comment_at(node).types:
                return self.comment_at(node).types[name]
        return None


def _unpack(target: ast.Tuple, value: ast.expr) -> dict[str, ast.expr | None]:
    """Return the expression of each name of an assignment of a tuple or a ``range``; None if unknown."""
    names = [item.id if isinstance(item, ast.Name) else "" for item in target.elts]
    values: Iterable[ast.expr | None] = [None] * len(names)
    if isinstance(value, ast.Tuple) and not _has_star(value) and not _has_star(target):
        values = value.elts
    elif isinstance(value, ast.Call) and ast.unparse(value.func) == "range":
        with suppress(ValueError):  # an argument that is not a number
            values = map(ast.Constant, range(*map(ast.literal_eval, value.args)))
    return {name: element for name, element in zip(names, values, strict=False) if name}


def _has_star(node: ast.Tuple) -> bool:
    """Return whether an element of a tuple stands for any number of elements."""
    return any(isinstance(element, ast.Starred) for element in node.elts)


class Modules:
    """A finder of modules by name.

    Args:
        roots: folders of packages and modules, searched in order.
        compiled: files that are compiled without the mark in their first line.
        packages: folders of packages with another name than the folder.
    """

    def __init__(
        self, roots: Iterable[Path], compiled: Iterable[Path] = (), packages: Mapping[str, Path] | None = None
    ) -> None:
        self.roots = list(roots)
        self.packages = dict(packages or {})
        self.always_compiled = {path.resolve() for path in compiled}
        self._modules_by_name: dict[str, Module | None] = {}

    def find(self, name: str) -> Module | None:
        """Return the module with this name, parsed once; None for modules outside of all folders."""
        if name not in self._modules_by_name:
            self._modules_by_name[name] = self._find(name)
        return self._modules_by_name[name]

    def _find(self, name: str) -> Module | None:
        top, *path = name.split(".")
        if top in self.packages:
            return self._find_in_folder(self.packages[top], name, path)
        return next(
            filter(None, (self._find_in_folder(root, name, [top, *path]) for root in self.roots)), None
        )

    def _find_in_folder(self, folder: Path, name: str, path_parts: Iterable[str]) -> Module | None:
        inner = folder.joinpath(*path_parts)
        for path in (inner.with_suffix(".py"), inner / "__init__.py"):
            if path.is_file():
                return Module(name, path, path.resolve() in self.always_compiled)
        return None

    def find_definition(self, module: Module, name: str) -> tuple[Module, str] | None:
        """Return the module that defines a name, and the name there, through re-exports.

        None if the name is unknown, or comes from a module outside of all folders.
        """
        if name in module.classes or name in module.functions or name in module.assignments:
            return module, name
        if name not in module.imports:
            return None
        module_name, original_name = module.imports[name]
        source_module = self.find(module_name)
        return (
            None
            if source_module is None or source_module is module
            else self.find_definition(source_module, original_name)
        )

    def constant_value(self, module: Module, node: ast.expr | None) -> int | float | None:
        """Return the value of an expression of constants; None for any other expression."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value  # type: ignore[return-value]
        if isinstance(node, ast.Name):
            definition = self.find_definition(module, node.id)
            return (
                self.constant_value(definition[0], definition[0].assignments.get(definition[1]))
                if definition
                else None
            )
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            operands = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.operand,)
            numbers = [self.constant_value(module, part) for part in operands]
            if None not in numbers:
                return _evaluate(node, numbers)  # type: ignore[arg-type]
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1:
            return self._constant_length(module, node.args[0])
        return None

    def _constant_length(self, module: Module, node: ast.expr) -> int | None:
        if isinstance(node, ast.Name):
            definition = self.find_definition(module, node.id)
            node = (definition and definition[0].assignments.get(definition[1])) or node
        # Not of a list, which may have another length later
        return len(node.elts) if isinstance(node, ast.Tuple) and not _has_star(node) else None


def _evaluate(node: ast.UnaryOp | ast.BinOp, numbers: list[int | float]) -> int | float | None:
    """Return the number that an operator gives for numbers; None for an error or a result of another type."""
    # Safe for ``eval``: the expression has one operator and numbers, and no names
    operands = [ast.Constant(number) for number in numbers]
    expression = (
        ast.BinOp(operands[0], node.op, operands[1])
        if isinstance(node, ast.BinOp)
        else ast.UnaryOp(node.op, operands[0])
    )
    try:
        value = eval(
            compile(
                ast.Expression(ast.fix_missing_locations(ast.copy_location(expression, node))), "", "eval"
            )
        )
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if type(value) in (int, float) else None
