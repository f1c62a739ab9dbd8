"""C types of annotations and of expressions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from fiberscope.compiler.modules import Module, Modules

if TYPE_CHECKING:
    from fiberscope.compiler.declarations import Generator
    from fiberscope.compiler.handwritten_pxd import ClassDeclaration

OBJECT = "object"  # a value without a C type
# C types: of annotations, of numpy's element types, of results of builtin functions, of displays, and of the
# elements of an ``array`` by its type code.
BUILTIN_TYPES = {
    "int": "long",
    "bool": "bint",
    "float": "double",
    "list": "list",
    "dict": "dict",
    "tuple": "tuple",
    "set": "set",
}
NUMPY_TYPES = {
    "int64": "long", "float64": "double", "int32": "int", "int16": "short", "int8": "signed char",
    "uint8": "unsigned char", "uint64": "unsigned long", "uint16": "unsigned short", "uint32": "unsigned int",
}  # fmt: skip
RESULT_TYPES = {
    "len": "long", "int": "long", "bool": "bint", "any": "bint", "all": "bint", "isinstance": "bint",
    "callable": "bint", "list": "list", "sorted": "list", "dict": "dict", "bytearray": "unsigned char[::1]",
}  # fmt: skip
_DISPLAY_TYPES = {
    ast.Compare: "bint", ast.List: "list", ast.ListComp: "list", ast.Dict: "dict", ast.DictComp: "dict",
}  # fmt: skip
# Visibility of an attribute of a compiled class for Python, before its C type.
HIDDEN, READONLY, PUBLIC = "", "readonly ", "public "
ARRAY_CODES = {
    "q": "long", "l": "long", "d": "double", "h": "short", "b": "signed char", "B": "unsigned char",
    "i": "int", "Q": "unsigned long", "H": "unsigned short", "I": "unsigned int",
}  # fmt: skip


def is_class(ctype: str) -> bool:
    """Return whether a C type is a compiled class."""
    return ctype[0].isupper()


def number_type(value: object) -> str:
    """Return the C type of a number; ``object`` for an integer beyond 64 bits and for other values."""
    if type(value) is int:
        return "long" if -(2**63) <= value < 2**63 else OBJECT
    return "bint" if type(value) is bool else "double" if type(value) is float else OBJECT


def strip_visibility(ctype: str) -> str:
    """Return the C type of an attribute without its visibility."""
    return ctype.removeprefix(READONLY).removeprefix(PUBLIC)


class Types:
    """C types within a module.

    Args:
        modules: finds modules by name.
        generator: has the compiled classes.
    """

    def __init__(self, modules: Modules, module: Module, generator: Generator) -> None:
        self.modules = modules
        self.module = module
        self.generator = generator
        self.for_locals = False  # a Python function's integer may exceed a C long
        self._handlers: tuple[tuple[Any, Any], ...] = (
            (ast.Constant, self._constant_type),
            (ast.Subscript, self._subscript_type),
            (ast.Name | ast.Attribute, self._name_type),
            (ast.UnaryOp, self._unary_type),
            (ast.BoolOp | ast.IfExp, self._choice_type),
            (ast.BinOp, self._arithmetic_type),
            (ast.Call, self._call_type),
        )

    def annotation_type(self, annotation: ast.expr | None, module: Module | None = None) -> str:
        """Return the C type of an annotation, ``object`` if there is none."""
        module = module or self.module
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        if isinstance(annotation, ast.BinOp):
            return self._optional_type(annotation, module)
        if isinstance(annotation, ast.Subscript):
            annotation = annotation.value
        if not isinstance(annotation, ast.Name):
            return OBJECT
        if annotation.id in BUILTIN_TYPES:
            return BUILTIN_TYPES[annotation.id]
        return self.compiled_class(annotation.id, module)

    def _optional_type(self, annotation: ast.BinOp, module: Module) -> str:
        alternatives = [annotation.left, annotation.right]
        remaining = [
            alternative
            for alternative in alternatives
            if not (isinstance(alternative, ast.Constant) and alternative.value is None)
        ]
        ctype = self.annotation_type(remaining[0], module) if len(remaining) == 1 else OBJECT
        return ctype if is_class(ctype) or ctype in ("list", "dict", "tuple") else OBJECT

    def compiled_class(self, name: str, module: Module) -> str:
        """Return the name of a compiled class, ``object`` for any other class."""
        definition = self.generator.find_class(module, name)
        if definition is None or module is self.module:
            return OBJECT if definition is None else name
        return definition[1] if self.generator.adopt(self.module, definition) else OBJECT

    def expression_type(self, value: ast.expr, types_by_name: dict[str, str]) -> str:
        """Return the C type of an expression.

        Args:
            value: the expression.
            types_by_name: C types of names, and of ``self``'s attributes as ``self.name``.
        """
        ctype = _DISPLAY_TYPES.get(type(value))
        if ctype:
            return ctype
        if isinstance(value, ast.Attribute) and value.attr == "data":
            return self.expression_type(value.value, types_by_name)
        for kinds, handler in self._handlers:
            if isinstance(value, kinds):
                return str(handler(value, types_by_name))
        return OBJECT

    def _constant_type(self, value: ast.Constant, _: dict[str, str]) -> str:
        return number_type(value.value)

    def _subscript_type(self, value: ast.Subscript, types_by_name: dict[str, str]) -> str:
        return OBJECT if isinstance(value.slice, ast.Slice) else self.element_type(value.value, types_by_name)

    def _unary_type(self, value: ast.UnaryOp, types_by_name: dict[str, str]) -> str:
        return "bint" if isinstance(value.op, ast.Not) else self.expression_type(value.operand, types_by_name)

    def _choice_type(self, value: ast.BoolOp | ast.IfExp, types_by_name: dict[str, str]) -> str:
        values = value.values if isinstance(value, ast.BoolOp) else [value.body, value.orelse]
        kinds = {self.expression_type(operand, types_by_name) for operand in values}
        return kinds.pop() if len(kinds) == 1 else OBJECT

    def _name_type(self, value: ast.Name | ast.Attribute, types_by_name: dict[str, str]) -> str:
        text = ast.unparse(value)
        if text in types_by_name:
            return types_by_name[text]
        if isinstance(value, ast.Name):
            return number_type(self.modules.constant_value(self.module, value))
        return self._attribute_type(value, types_by_name)

    def element_type(self, holder: ast.expr, types_by_name: dict[str, str]) -> str:
        """Return the C type of the elements of a list or an array."""
        ctype = self.expression_type(holder, types_by_name)
        if ctype.endswith("[::1]"):
            kind = ctype.removesuffix("[::1]").removeprefix("const ")
            return kind if kind in ("double", "unsigned long") else "long"
        return types_by_name.get(f"element {ast.unparse(holder)}", OBJECT)

    def _class_chain(self, ctype: str) -> list[tuple[Module, ClassDeclaration]]:
        """Return a known compiled class and its base classes, each with its module."""
        definition = self.generator.find_class(self.module, ctype) if is_class(ctype) else None
        return self.generator.class_chain(*definition) if definition else []

    def _localize(self, ctype: str, module: Module) -> str:
        """Translate a C type of another module for this module."""
        return self.compiled_class(ctype, module) if is_class(ctype) else ctype

    def _attribute_type(self, value: ast.Attribute, types_by_name: dict[str, str]) -> str:
        """Return the type of an attribute by its declaration in its class, compiled or not."""
        for module, declared in self._class_chain(self.expression_type(value.value, types_by_name)):
            if value.attr in declared.attributes:
                return self._localize(strip_visibility(declared.attributes[value.attr]), module)
        holder = types_by_name.get(f"class {ast.unparse(value.value)}")
        definition = self.modules.find_definition(self.module, holder) if holder else None
        while definition and definition[1] in definition[0].classes:
            module, node = definition[0], definition[0].classes[definition[1]]
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and ast.unparse(item.target) == value.attr:
                    return self.annotation_type(item.annotation, module)
                if isinstance(item, ast.FunctionDef) and item.name == value.attr and item.decorator_list:
                    return self.annotation_type(item.returns, module)
            base = node.bases[0] if node.bases else None
            definition = self.modules.find_definition(module, base.id) if isinstance(base, ast.Name) else None
        return OBJECT

    def _arithmetic_type(self, value: ast.BinOp, types_by_name: dict[str, str]) -> str:
        if isinstance(value.op, ast.Mult) and isinstance(value.left, ast.Call | ast.List):
            left_type = self.expression_type(value.left, types_by_name)
            if left_type not in ("long", "double"):
                return left_type
        kinds = {
            self.expression_type(value.left, types_by_name),
            self.expression_type(value.right, types_by_name),
        } - {"bint"}
        if isinstance(value.op, ast.Div):
            return "double" if kinds <= {"long", "double"} else OBJECT
        if "unsigned long" in kinds:  # left to Cython, to keep the sign correct
            return OBJECT
        return "long" if kinds == {"long"} else "double" if kinds <= {"long", "double"} else OBJECT

    def _call_type(self, value: ast.Call, types_by_name: dict[str, str]) -> str:
        name = ast.unparse(value.func)
        if name in RESULT_TYPES:
            return OBJECT if self.for_locals and name == "int" else RESULT_TYPES[name]
        if name in ("min", "max", "sum", "abs"):
            return self._common_type(value, types_by_name)
        if name.startswith("np."):
            return _numpy_type(value)
        if name == "array" or name.endswith(".cast"):
            code = value.args[0] if value.args else None
            kind = ARRAY_CODES.get(str(code.value)) if isinstance(code, ast.Constant) else None
            return f"{kind}[::1]" if kind else OBJECT
        if isinstance(value.func, ast.Name):
            return self._result_type(value.func.id)
        return (
            self._method_result(value.func, types_by_name)
            if isinstance(value.func, ast.Attribute)
            else OBJECT
        )

    def _method_result(self, function: ast.Attribute, types_by_name: dict[str, str]) -> str:
        """Return the type of the result of a method."""
        if function.attr == "bit_length":
            return "long"
        if f"{ast.unparse(function)}()" in types_by_name:
            return types_by_name[f"{ast.unparse(function)}()"]
        holder = ast.unparse(function.value)
        if holder in self.module.imports:
            source_module = self.modules.find(".".join(self.module.imports[holder]))
            node = source_module.functions.get(function.attr) if source_module else None
            return self._function_result(source_module, node) if source_module and node else OBJECT
        for module, declared in self._class_chain(self.expression_type(function.value, types_by_name)):
            if function.attr in declared.methods:
                return self._localize(declared.methods[function.attr].returns or OBJECT, module)
        return OBJECT

    def _common_type(self, value: ast.Call, types_by_name: dict[str, str]) -> str:
        if len(value.args) == 1:
            return "long" if ast.unparse(value.func) == "sum" else OBJECT
        kinds = {self.expression_type(argument, types_by_name) for argument in value.args}
        return kinds.pop() if len(kinds) == 1 else OBJECT

    def _result_type(self, name: str) -> str:
        """Return the type of the result of a function or a class."""
        definition = self.modules.find_definition(self.module, name)
        if definition and definition[1] in definition[0].functions:
            function = definition[0].functions[definition[1]]
            return self.returned_array_type(function) or self._function_result(definition[0], function)
        return self.compiled_class(name, self.module)

    def _function_result(self, module: Module, function: ast.FunctionDef) -> str:
        """Return the type of a function's result, by its annotation, or by its comment for a C function."""
        comment = module.comment_at(function)
        if self.for_locals and not comment.keywords & {"cdef", "cpdef"}:
            ctype = self.annotation_type(function.returns, module)
            return OBJECT if ctype == "long" else ctype
        return comment.types.get("return") or self.annotation_type(function.returns, module)

    def returned_array_type(self, function: ast.FunctionDef) -> str:
        """Return the C type of the array that a function returns; empty if it returns none."""
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                ctype = self.expression_type(node.value, {})
                return ctype if ctype.endswith("]") else ""
        return ""


def _numpy_type(value: ast.Call) -> str:
    """Return the type of an array that numpy creates, by the type of its elements."""
    name = ast.unparse(value.func).removeprefix("np.")
    if name not in ("zeros", "ones", "empty", "full", "array", "asarray", "arange", "frombuffer"):
        return OBJECT
    for part in (*value.args, *(keyword.value for keyword in value.keywords)):
        if (kind := ast.unparse(part).removeprefix("np.")) in NUMPY_TYPES:
            return f"{NUMPY_TYPES[kind]}[::1]"
    return "double[::1]" if name in ("zeros", "ones", "empty") else OBJECT
