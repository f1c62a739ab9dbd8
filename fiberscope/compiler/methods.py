"""C signatures of functions and methods, from annotations and a comment at the head.

A method with a leading underscore is ``cdef``. A method without one is ``cpdef``. A method with an argument
or result without a C type, or with an inner function, is a Python method. A comment at the ``def`` overrides
these rules: ``# C: cdef``, ``# C: cpdef``, ``# C: def``, ``# C: noexcept``, ``# C: inline``, or several,
separated by commas. In the comment, ``name=ctype`` gives the C type of an argument or local name, and
``return=ctype`` the C type of the result.
"""

from __future__ import annotations

import ast

from fiberscope.compiler.handwritten_pxd import Function
from fiberscope.compiler.types import OBJECT, Types

HOOKS = {"elaborate", "sample", "counters", "signals", "attach", "fetch"}  # Python calls these methods
EXCEPTION_CLAUSES = {
    "void": "except *",
    "int": "except -1",
    "bint": "except -1",
    "long": "except? -2",
    "double": "except? -1",
    "unsigned long": "except? -1",
}
CLOSURES = (ast.Lambda, ast.FunctionDef)  # not allowed in a C function
MAX_ROUNDS = 3  # number of passes that propagate types between local names


def method_signature(types: Types, node: ast.FunctionDef) -> Function | None:
    """Return the signature of a method; None for a Python method."""
    keywords = types.module.comment_at(node).keywords
    if node.decorator_list or node.name.startswith("__") or "def" in keywords:
        return None
    if not keywords & {"cdef", "cpdef"} and any(
        isinstance(inner, CLOSURES) for inner in ast.walk(node) if inner is not node
    ):
        return None
    private = node.name.startswith("_")
    if not keywords & {"cdef", "cpdef"} and not private and not _has_c_result(types, node):
        return None
    kind = next(iter(keywords & {"cdef", "cpdef"}), "cdef" if private else "cpdef")
    return signature(types, node, kind, keywords)


def _has_c_result(types: Types, node: ast.FunctionDef) -> bool:
    returns_none = isinstance(node.returns, ast.Constant) and node.returns.value is None
    return node.name not in HOOKS and (returns_none or types.annotation_type(node.returns) != OBJECT)


def signature(types: Types, node: ast.FunctionDef, kind: str, keywords: set[str]) -> Function:
    """Return the C signature of a function of a known kind."""
    returns = types.module.comment_at(node).types.get("return") or result_type(types, node, keywords)
    raises = EXCEPTION_CLAUSES.get(returns, "")  # an object result signals exceptions itself
    if "noexcept" in keywords:
        raises = "noexcept"
    parameters = {argument.arg: argument for argument in node.args.args if argument.arg != "self"}
    optional = list(parameters)[len(parameters) - len(node.args.defaults) :]
    comment = types.module.comment_at(node)
    ctypes = {
        name: comment.types.get(name) or types.annotation_type(argument.annotation)
        for name, argument in parameters.items()
    }
    arguments = tuple(
        f"{'' if ctype == OBJECT else ctype + ' '}{name}{'=*' if name in optional else ''}"
        for name, ctype in ctypes.items()
    )
    return Function(kind, returns, arguments, raises, "inline" in keywords)


def result_type(types: Types, node: ast.FunctionDef, keywords: set[str]) -> str:
    """Return the C type of a function's result."""
    returns_none = isinstance(node.returns, ast.Constant) and node.returns.value is None
    if returns_none:
        return "void" if "noexcept" in keywords or _leaves_early(node) else "int"
    ctype = types.annotation_type(node.returns)
    return "" if ctype == OBJECT else ctype


def _leaves_early(node: ast.FunctionDef) -> bool:
    """Return whether a function has a return without a value, which C does not allow beside a C result."""
    return any(isinstance(inner, ast.Return) and inner.value is None for inner in ast.walk(node))


def local_types(types: Types, node: ast.FunctionDef, types_by_name: dict[str, str]) -> dict[str, str]:
    """Return C types of local names: the annotation, or the common type of all assigned values."""
    comment = types.module.comment_at(node).types
    arguments = {
        item.arg: comment.get(item.arg) or types.annotation_type(item.annotation)
        for item in node.args.args
        if item.arg != "self"
    }
    annotated = {name: ctype for name, ctype in comment.items() if name not in (*arguments, "return")}
    values_by_name: dict[str, list[ast.expr]] = {}
    for statement in ast.walk(node):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            ctype = types.module.comment_at(statement).type_of(statement.target.id)
            annotated[statement.target.id] = ctype or types.annotation_type(statement.annotation)
        for target, value in _pair_assignments(statement):
            if isinstance(target, ast.Name):
                if isinstance(statement, ast.stmt) and (
                    ctype := types.module.comment_at(statement).type_of(target.id)
                ):
                    annotated[target.id] = ctype
                values_by_name.setdefault(target.id, []).append(value)
    types_by_name = types_by_name | arguments
    types_of_locals: dict[str, str] = {}
    types.for_locals = True
    for _ in range(MAX_ROUNDS):  # a name may be assigned another name
        for name, values in values_by_name.items():
            if name not in arguments and name not in annotated:
                ctype = _common_type(
                    {
                        types.expression_type(value, types_by_name | annotated | types_of_locals)
                        for value in values
                    }
                )
                types_of_locals[name] = (
                    OBJECT if ctype.endswith("]") else ctype
                )  # an array may be used as a numpy array
    types.for_locals = False
    return {name: ctype for name, ctype in (types_of_locals | annotated).items() if ctype != OBJECT}


def _pair_assignments(statement: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return the assignments of a statement as pairs of target and value."""
    if isinstance(statement, ast.For):
        is_range = isinstance(statement.iter, ast.Call) and ast.unparse(statement.iter.func) == "range"
        if isinstance(statement.target, ast.Tuple):
            return [(item, ast.Constant(...)) for item in statement.target.elts]
        return [
            (
                statement.target,
                ast.Constant(0) if is_range else ast.Subscript(statement.iter, ast.Constant(0)),
            )
        ]
    if isinstance(statement, ast.AugAssign):
        return [(statement.target, ast.BinOp(statement.target, statement.op, statement.value))]
    if isinstance(statement, ast.NamedExpr):
        return [(statement.target, statement.value)]
    if not isinstance(statement, ast.Assign):
        return []
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for target in statement.targets:
        if not isinstance(target, ast.Tuple):
            pairs.append((target, statement.value))
        elif isinstance(statement.value, ast.Tuple):
            pairs += zip(target.elts, statement.value.elts, strict=False)
        else:
            pairs += [(item, ast.Constant(...)) for item in target.elts]
    return pairs


def _common_type(ctypes: set[str]) -> str:
    """Return the C type that represents all of these types."""
    if ctypes == {"bint", "long"}:
        return "long"
    return ctypes.pop() if len(ctypes) == 1 else OBJECT
