"""C signatures of functions and methods, from annotations and a comment at the head.

A method with a leading underscore is ``cdef``, whatever its types are. Another method is ``cpdef`` if its
result is None or has a C type, and if its name is not in ``HOOKS``; otherwise it is a Python method. A method
with a decorator, an inner function or an argument such as ``*names``, and a special method such as
``__init__``, are Python methods too. An argument without a C type is a Python object. A comment at the
``def`` overrides these rules, except for decorators and special methods: ``# C: cdef``, ``# C: cpdef``, ``#
C: def``, ``# C: noexcept``, ``# C: inline``, or several, separated by commas. In the comment, ``name=ctype``
gives the C type of an argument or local name, and ``return=ctype`` the C type of the result.
"""

from __future__ import annotations

import ast

from fiberscope.compiler.handwritten_pxd import Function
from fiberscope.compiler.modules import UnsupportedError
from fiberscope.compiler.types import OBJECT, Types

HOOKS = {"elaborate", "sample", "counters", "signals", "attach", "fetch"}  # Python calls these methods
# By C type of the result. ``except -1``: -1 always means an exception. With a ``?``, the caller must also
# look whether there is one, as the value may be a result. The value of ``long`` is -2, because -1 is a
# frequent result: ``NEVER`` of ``tick``, for example.
EXCEPTION_CLAUSES = {
    "void": "except *",
    "int": "except -1",
    "bint": "except -1",
    "long": "except? -2",
    "double": "except? -1",
    "unsigned long": "except? -1",
}
CLOSURES = (ast.Lambda, ast.FunctionDef)  # not allowed in a C function
MAX_ROUNDS = 3  # number of passes that propagate types between local names; longer chains stay objects


def find_method_signature(types: Types, node: ast.FunctionDef) -> Function | None:
    """Return the signature of a method; None for a Python method."""
    keywords = types.module.comment_at(node).keywords
    if node.decorator_list or node.name.startswith("__") or "def" in keywords:
        return None
    if not keywords & {"cdef", "cpdef"} and (
        _has_python_arguments(node)
        or any(isinstance(inner, CLOSURES) for inner in ast.walk(node) if inner is not node)
    ):
        return None
    private = node.name.startswith("_")
    if not keywords & {"cdef", "cpdef"} and not private and not _has_c_result(types, node):
        return None
    # A private method is called from compiled code only, and needs no wrapper for Python
    kind = next(iter(keywords & {"cdef", "cpdef"}), "cdef" if private else "cpdef")
    return build_signature(types, node, kind, keywords)


def _has_python_arguments(node: ast.FunctionDef) -> bool:
    """Return whether a function has arguments that C lacks: ``/``, ``*``, ``*names`` or ``**names``."""
    arguments = node.args
    return any((arguments.posonlyargs, arguments.vararg, arguments.kwonlyargs, arguments.kwarg))


def _has_c_result(types: Types, node: ast.FunctionDef) -> bool:
    """Return whether a method's result is None or has a C type, and Python does not call the method."""
    returns_none = isinstance(node.returns, ast.Constant) and node.returns.value is None
    return node.name not in HOOKS and (returns_none or types.annotation_type(node.returns) != OBJECT)


def build_signature(types: Types, node: ast.FunctionDef, kind: str, keywords: set[str]) -> Function:
    """Return the C signature of a function of a known kind, without local names.

    Args:
        types: finds C types in the module of the function.
        node: the function.
        kind: ``cdef`` or ``cpdef``.
        keywords: keywords of the comment at the function, of which ``noexcept`` and ``inline`` count.

    Raises:
        UnsupportedError: the function has arguments that only Python has.
    """
    if _has_python_arguments(node):
        raise UnsupportedError(
            f"{types.module.path}:{node.lineno}: {node.name} is compiled as a C function, which has no "
            f"arguments with /, * or **; write plain arguments, or leave out the comment {kind}"
        )
    returns = types.module.comment_at(node).types.get("return") or result_type(types, node, keywords)
    raises = EXCEPTION_CLAUSES.get(returns, "")  # an object result signals exceptions itself
    if "noexcept" in keywords:
        raises = "noexcept"
    parameters = {argument.arg: argument for argument in node.args.args if argument.arg != "self"}
    # In a ``.pxd``, ``=*`` marks an argument whose default value is in the ``.py``
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
    """Return the C type of a function's result by its annotation; empty for a Python object.

    A function without a result returns an ``int``, in which -1 signals an exception: the caller of a ``void``
    function would have to look for an exception after each call. It is ``void`` nevertheless if it raises no
    exception (``noexcept``), or has a return without a value.
    """
    returns_none = isinstance(node.returns, ast.Constant) and node.returns.value is None
    if returns_none:
        return "void" if "noexcept" in keywords or _leaves_early(node) else "int"
    ctype = types.annotation_type(node.returns)
    return "" if ctype == OBJECT else ctype


def _leaves_early(node: ast.FunctionDef) -> bool:
    """Return whether a function has a return without a value, which C does not allow beside a C result."""
    return any(isinstance(inner, ast.Return) and inner.value is None for inner in ast.walk(node))


def infer_local_types(types: Types, node: ast.FunctionDef, types_by_name: dict[str, str]) -> dict[str, str]:
    """Return C types of local names: the annotation, or the common type of all assigned values.

    A comment at the function or at the assignment comes before the annotation. Python objects are left out.

    Args:
        types: finds C types in the module of the function.
        node: the function.
        types_by_name: known types of expressions, such as ``self.name``; not changed.
    """
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
                ctype = _find_common_type(
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
    """Return the assignments of a statement as pairs of target and value.

    A value of which only the type is known is replaced by a constant or an element of this type; ``...``
    stands for a Python object.
    """
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


def _find_common_type(ctypes: set[str]) -> str:
    """Return the C type that represents all of these types; ``object`` if none does."""
    if ctypes == {"bint", "long"}:
        return "long"
    return ctypes.pop() if len(ctypes) == 1 else OBJECT
