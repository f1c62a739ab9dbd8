"""Find tests that may end without an assertion, from their source.

An assertion is firm if it is reached whenever its function comes to its end: it stands in no branch of
an ``if`` alone, behind no ``continue`` or ``return`` of a branch that has none, in no ``except``, in no
loop over what a filter left, and is no ``all`` of what a filter left, unless another assertion or an
``assume`` says that something was. ``if ...: raise``, ``pytest.raises``, ``pytest.warns``, ``pytest.fail``,
numpy's ``assert_...`` and ``check=True`` of a program are assertions, and so is the call of a function of the
tests, or of what ships for tests, that has a firm one.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from syntax import tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
CHECKS = {"raises", "warns", "fail", "check_returncode", "deprecated_call"}
FILTERS = {"filter", "flatnonzero", "nonzero", "compress"}


@dataclass
class Module:
    """A file of tests or of test support."""

    path: Path
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        """Parse the file."""
        self.tree = tree(self.path)

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Return the functions of the module and of its classes, by name."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                found.setdefault(node.name, node)
        return found

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """Return the imported names, each with the last part of its module and its name there."""
        return {
            alias.asname or alias.name: ((node.module or "").rpartition(".")[2], alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def tests(self) -> Iterator[Function]:
        """Return the tests of the module, including those in classes."""
        bodies = [self.tree.body, *(node.body for node in self.tree.body if isinstance(node, ast.ClassDef))]
        for body in bodies:
            for node in body:
                if isinstance(node, Function) and node.name.startswith("test"):
                    yield node


class Reader:
    """A search for firm assertions in functions.

    Args:
        modules: of the tests, and those that they import.
    """

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules: dict[str, list[Module]] = {}
        for module in modules:
            self._modules.setdefault(module.path.stem, []).append(module)
        self._known: dict[Function, bool] = {}

    def without(self, module: Module) -> list[str]:
        """Return the tests of a module without a firm assertion."""
        return [test.name for test in module.tests() if not self.is_firm(module, test)]

    def is_firm(self, module: Module, function: Function) -> bool:
        """Return whether a function has a firm assertion; recursion does not count."""
        if function not in self._known:
            self._known[function] = False
            self._known[function] = _Body(self, module, function).asserts(function.body)
        return self._known[function]

    def calls_firm(self, module: Module, name: str) -> bool:
        """Return whether the function with this name in a module has a firm assertion."""
        if name in module.functions:
            return self.is_firm(module, module.functions[name])
        source, there = module.imported.get(name, ("", ""))
        return any(
            self.is_firm(helper, helper.functions[there])
            for helper in self._modules.get(source, ())
            if there in helper.functions
        )


class _Body:
    """The statements of one function."""

    def __init__(self, reader: Reader, module: Module, function: Function) -> None:
        self.reader, self.module = reader, module
        nodes = list(ast.walk(function))
        self.filtered = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and _filters(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.filtered -= {name for node in nodes for name in _said_to_be_there(node)}

    def asserts(self, body: Sequence[ast.stmt]) -> bool:
        """Return whether a firm assertion precedes any statement that may leave."""
        for statement in body:
            if self._is_firm(statement):
                return True
            if isinstance(statement, ast.If) and any(
                _leaves(branch) and not self.asserts(branch) for branch in (statement.body, statement.orelse)
            ):
                return False
        return False

    def _is_firm(self, statement: ast.stmt) -> bool:  # noqa: PLR0911 - a return a kind of statement
        match statement:
            case ast.Assert(test=test):
                return not self._is_vacuous(test)
            case ast.If(body=[*_, ast.Raise()]):
                return True
            case ast.If(body=body, orelse=orelse):
                return self.asserts(body) and self.asserts(orelse)
            case ast.For(iter=iterated, body=body):
                return self._calls(iterated) or (not self._is_left(iterated) and self.asserts(body))
            case ast.While(body=body):
                return self.asserts(body)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                return any(self._calls(item.context_expr) for item in items) or self.asserts(body)
            case ast.Try(body=body, finalbody=final):
                return self.asserts(body) or self.asserts(final)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
        return self._calls(statement)

    def _is_vacuous(self, test: ast.expr) -> bool:
        """Return whether an expression is an ``all``, or a ``not any``, of a filtered sequence."""
        if isinstance(test, ast.UnaryOp):
            test = test.operand
        return (
            isinstance(test, ast.Call)
            and isinstance(test.func, ast.Name)
            and test.func.id in ("all", "any")
            and any(self._is_left(argument) or _filters(argument) for argument in test.args)
        )

    def _is_left(self, iterated: ast.expr) -> bool:
        """Return whether a filter may make a sequence empty."""
        names = {node.id for node in ast.walk(iterated) if isinstance(node, ast.Name)}
        return _filters(iterated) or bool(names & self.filtered)

    def _calls(self, node: ast.AST) -> bool:
        """Return whether a statement certainly calls a function that asserts."""
        return any(
            _checks(call) or self.reader.calls_firm(self.module, _named(call.func))
            for call in _certain_calls(node)
        )


def _certain_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that a statement certainly executes."""
    if isinstance(node, ast.Lambda | ast.IfExp | ast.GeneratorExp):
        return
    if isinstance(node, ast.BoolOp):
        yield from _certain_calls(node.values[0])
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _certain_calls(child)


def _named(function: ast.expr) -> str:
    """Return the called name; for a method, its name if the class or pytest defines it."""
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self" | "cls" | "pytest"), attr=name):
            return name
        case ast.Attribute(attr="check_returncode"):
            return "check_returncode"
    return ""


def _checks(call: ast.Call) -> bool:
    """Return whether a call asserts: of pytest, of numpy, or the check of an exit code."""
    by_name = isinstance(call.func, ast.Attribute) and call.func.attr.startswith("assert_")
    checked = any(
        word.arg == "check" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in call.keywords
    )
    return by_name or checked or _named(call.func) in CHECKS


def _filters(node: ast.AST) -> bool:
    """Return whether an expression filters: a comprehension with an ``if``, or a library function."""
    match node:
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return any(generator.ifs or _filters(generator.iter) for generator in node.generators)
        case ast.Call(func=ast.Name(id="list" | "tuple" | "set" | "sorted" | "enumerate" | "zip"), args=args):
            return any(_filters(argument) for argument in args)
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in FILTERS
    return False


def _said_to_be_there(node: ast.AST) -> Iterator[str]:
    """Return the names that an assertion, or an ``assume``, requires to be non-empty."""
    said: list[ast.expr] = []
    if isinstance(node, ast.Assert):
        said = [node.test]
    elif isinstance(node, ast.Call) and _named(node.func) == "assume":
        said = node.args
    for test in said:
        if not (isinstance(test, ast.Call) and _named(test.func) in ("all", "any")):
            yield from (name.id for name in ast.walk(test) if isinstance(name, ast.Name))


def _leaves(branch: Sequence[ast.stmt]) -> bool:
    """Return whether a branch ends the iteration or the function."""
    return any(isinstance(node, ast.Continue | ast.Return | ast.Break) for node in branch)


def without_assertion(tests: Iterable[Path], helpers: Iterable[Path]) -> Mapping[str, list[str]]:
    """Return the tests that may end without an assertion, by file."""
    modules = [Module(path) for path in tests]
    reader = Reader([*modules, *map(Module, helpers)])
    found = {module.path.as_posix(): reader.without(module) for module in modules}
    return {path: names for path, names in found.items() if names}
