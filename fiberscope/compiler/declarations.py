"""Declarations of a module for the compiler, and their text."""

from __future__ import annotations

import ast

from fiberscope.compiler import handwritten_pxd
from fiberscope.compiler.handwritten_pxd import Declarations, Declared, Function
from fiberscope.compiler.methods import method, signature, typed_locals
from fiberscope.compiler.modules import Module, Modules, UnsupportedError
from fiberscope.compiler.types import HIDDEN, OBJECT, PUBLIC, READONLY, Types, bare, is_class


class Generator:
    """Cached declarations of modules.

    Args:
        modules: finds modules by name.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._declared: dict[tuple[str, str], Declared] = {}
        self._adopted: dict[tuple[str, str], tuple[Module, str]] = {}
        self._by_hand: dict[str, Declarations] = {}

    def compiled(self, module: Module, name: str) -> bool:
        """Return whether a class of a module is compiled."""
        if module.by_hand:
            return name in self.read_pxd(module).classes
        node = module.classes.get(name)
        return module.compiled and node is not None and self._can_be(module, node)

    def read_pxd(self, module: Module) -> Declarations:
        """Read the ``.pxd`` beside a module."""
        if module.name not in self._by_hand:
            self._by_hand[module.name] = handwritten_pxd.parse_pxd(module.pxd.read_text())
        return self._by_hand[module.name]

    def _can_be(self, module: Module, node: ast.ClassDef) -> bool:
        """Return whether a class can be compiled: it has no decorators, and no uncompiled base class."""
        if node.decorator_list or node.keywords or OBJECT in module.comment_at(node).keywords:
            return False
        if not node.bases:
            return True
        base = node.bases[0]
        origin = self.modules.origin(module, base.id) if isinstance(base, ast.Name) else None
        return len(node.bases) == 1 and origin is not None and self.compiled(*origin)

    def module(self, module: Module) -> Declarations:
        """Return the declarations of a module."""
        types = Types(self.modules, module, self)
        module_types = Declarations()
        for name in module.classes:
            if self.compiled(module, name):
                module_types.classes[name] = self.declared(module, name)
                for item in module.classes[name].body:
                    if isinstance(item, ast.FunctionDef) and item.name in module_types.classes[name].methods:
                        function = module_types.classes[name].methods[item.name]
                        function.locals = typed_locals(types, item, module_types.classes[name].types_by_name)
        for name, node in module.functions.items():
            if kinds := module.comment_at(node).keywords & {"cdef", "cpdef"}:
                function = signature(types, node, kinds.pop(), module.comment_at(node).keywords)
                function.locals = typed_locals(types, node, {})
                module_types.functions[name] = function
        module_types.numbers = self._numbers(module, module_types)
        return module_types

    def declared(self, module: Module, name: str) -> Declared:
        """Return a compiled class of a module."""
        if module.by_hand:
            return self.read_pxd(module).classes[name]
        if (module.name, name) not in self._declared:
            node = module.classes[name]
            declared = Declared(self._base(module, name), "final" in module.comment_at(node).keywords)
            self._declared[module.name, name] = declared  # preliminary, for mutual references
            self._declare(module, node, declared)
        return self._declared[module.name, name]

    def chain(self, module: Module, name: str) -> list[tuple[Module, Declared]]:
        """Return a class and its base classes, the nearest first, each with its module."""
        declared = self.declared(module, name)
        origin = self.find_class(module, declared.base) if declared.base else None
        return [(module, declared), *(self.chain(*origin) if origin else [])]

    def find_class(self, module: Module, name: str) -> tuple[Module, str] | None:
        """Return the module that defines a compiled class, and the class's name there."""
        definition = self.modules.origin(module, name) or self._adopted.get((module.name, name))
        if definition is None:  # a comment may use names from the modules of base classes
            bases = [
                base.id
                for node in module.classes.values()
                for base in node.bases
                if isinstance(base, ast.Name)
            ]
            base_origins = [self.modules.origin(module, base) for base in bases]
            definitions = [
                self.find_class(base[0], name) for base in base_origins if base and base[0] is not module
            ]
            return next(filter(None, definitions), None)
        return definition if self.compiled(*definition) else None

    def adopt(self, module: Module, definition: tuple[Module, str]) -> bool:
        """Make a class known in a module that does not import it; return whether its name is unambiguous."""
        if self.modules.origin(module, definition[1]) is None:
            self._adopted.setdefault((module.name, definition[1]), definition)
        own_definition = self.find_class(module, definition[1])
        return own_definition is not None and own_definition[0] is definition[0]

    def _base(self, module: Module, name: str) -> str | None:
        bases = module.classes[name].bases
        return bases[0].id if bases and isinstance(bases[0], ast.Name) else None

    def _declare(self, module: Module, node: ast.ClassDef, class_types: Declared) -> None:
        types = Types(self.modules, module, self)
        base_types = [declared for _, declared in self.chain(module, node.name)[1:]]
        types_by_name = class_types.types_by_name
        for base in reversed(base_types):
            types_by_name |= base.types_by_name
            types_by_name |= {f"self.{name}": bare(ctype) for name, ctype in base.attributes.items()}
        if "open" in module.comment_at(node).keywords:
            class_types.attributes["__dict__"] = "dict"
        inherited = {name for base in base_types for name in base.attributes}
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                types_by_name[f"self.{item.name}()"] = types.annotation_type(item.returns)
        for base in base_types:
            types_by_name |= {
                f"self.{name}()": typed_method.returns
                for name, typed_method in base.methods.items()
                if typed_method.returns
            }
        own_types = attributes(types, node, types_by_name)
        class_types.attributes |= {name: ctype for name, ctype in own_types.items() if name not in inherited}
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                typed_method = self._method(types, item, base_types)
                if typed_method:
                    _refuse_super(module, item, typed_method)
                    class_types.methods[item.name] = typed_method
                else:  # values of Python have no known type
                    types_by_name[f"self.{item.name}()"] = OBJECT

    def _method(self, types: Types, node: ast.FunctionDef, base_types: list[Declared]) -> Function | None:
        """Return the declaration of a method; a method that overrides another has the same declaration.

        Raises:
            UnsupportedError: the base class does not allow the override.
        """
        overridden = next((base.methods[node.name] for base in base_types if node.name in base.methods), None)
        if overridden is None:
            return method(types, node)
        if overridden.inline or overridden.final:
            raise UnsupportedError(
                f"{types.module.path}:{node.lineno}: {node.name} overrides a method that is compiled into "
                "its callers; give your method another name"
            )
        return Function(overridden.kind, overridden.returns, overridden.arguments, overridden.raises)

    def _numbers(self, module: Module, module_types: Declarations) -> dict[str, str]:
        """Return the C types of the constants that compiled bodies use."""
        used: set[str] = set()
        for name in (*module_types.classes, *module_types.functions):
            node = module.classes.get(name) or module.functions[name]
            for statement in node.body if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(statement, ast.FunctionDef):
                    used |= {item.id for item in ast.walk(statement) if isinstance(item, ast.Name)}
        return {name: ctype for name in sorted(used) if (ctype := self._number(module, name))}

    def _number(self, module: Module, name: str) -> str:
        if not name.strip("_").isupper():
            return ""
        if comment := module.number_type(name):
            return "" if comment == OBJECT else comment
        kind = type(self.modules.number(module, ast.Name(name, ast.Load())))
        return {int: "long", float: "double"}.get(kind, "")


def _refuse_super(module: Module, node: ast.FunctionDef, function: Function) -> None:
    """Refuse ``super()`` in a C method, where it would raise an error at run time.

    Raises:
        UnsupportedError: naming the place and the remedy.
    """
    for call in ast.walk(node) if function.kind == "cdef" else ():
        if isinstance(call, ast.Call) and ast.unparse(call) == "super()":
            raise UnsupportedError(
                f"{module.path}:{call.lineno}: {node.name} is compiled as a C method, which has no super(); "
                f"name the class instead, as in Base.{node.name}(self)"
            )


def attributes(types: Types, node: ast.ClassDef, types_by_name: dict[str, str]) -> dict[str, str]:
    """Return the C types of the attributes of a class, also added to ``types_by_name`` as ``self.name``."""
    types_by_attribute: dict[str, str] = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value is None:
            types_by_attribute[item.target.id] = _annotated_type(types, item, types_by_name)
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    for item in sorted(methods, key=lambda method: method.name != "__init__"):
        _from_body(types, item, types_by_attribute, types_by_name, arguments(types, item))
    return types_by_attribute


def arguments(types: Types, function: ast.FunctionDef) -> dict[str, str]:
    """Return the declared arguments of a function: C types, classes, contents of lists."""
    types_by_name: dict[str, str] = {}
    for item in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if item.annotation is not None:
            note(types, types_by_name, item.arg, types.annotation_type(item.annotation), item.annotation)
            types_by_name[f"class {item.arg}"] = ast.unparse(item.annotation).split(" ")[0]
    return types_by_name


def _annotated_type(types: Types, item: ast.AnnAssign, types_by_name: dict[str, str]) -> str:
    comment = types.module.comment_at(item)
    name = ast.unparse(item.target)
    visibility, ctype = _visibility(comment.type_of(name) or "")
    ctype = ctype or types.annotation_type(item.annotation)
    note(types, types_by_name, f"self.{name}", ctype, item.annotation)
    return f"{PUBLIC if visibility is None else visibility}{ctype}"


def note(
    types: Types, types_by_name: dict[str, str], name: str, ctype: str, annotation: ast.expr | None
) -> None:
    """Add the C type, the element type and the class of an attribute."""
    types_by_name[name] = ctype
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in ("list", "Sequence"):
        element = types.annotation_type(annotation.slice)
        if element != OBJECT:
            types_by_name[f"element {name}"] = element


def _from_body(
    types: Types,
    item: ast.FunctionDef,
    types_by_attribute: dict[str, str],
    types_by_name: dict[str, str],
    local: dict[str, str],
) -> None:
    for statement in ast.walk(item):
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _assign(
                types, statement, statement.target, statement.value, types_by_attribute, types_by_name, local
            )
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            for part_target, value in _pairs(target, statement.value):
                _assign(types, statement, part_target, value, types_by_attribute, types_by_name, local)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Pair each target with its value; several targets of one value have an element of the value each."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    if isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    item = value.elt if isinstance(value, ast.GeneratorExp) else ast.Subscript(value, ast.Constant(0))
    return [(element, item) for element in target.elts]


def _assign(
    types: Types,
    statement: ast.Assign | ast.AnnAssign,
    target: ast.expr,
    value: ast.expr,
    types_by_attribute: dict[str, str],
    types_by_name: dict[str, str],
    local: dict[str, str],
) -> None:
    """Derive types from the assignment to one target, unless the target has a type."""
    name, comment = ast.unparse(target), types.module.comment_at(statement)
    attribute = (
        target.attr if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" else ""
    )
    if (not attribute and not isinstance(target, ast.Name)) or (
        attribute and name in types_by_name and attribute not in comment.types
    ):
        return
    annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
    visibility, ctype = _visibility(comment.type_of(attribute or name) or "")
    if not ctype:
        ctype = (
            types.annotation_type(annotation)
            if annotation is not None
            else types.expression_type(value, types_by_name | local)
        )
    note(types, types_by_name if attribute else local, name, ctype, annotation)
    for fact in ("class", "element"):
        if attribute and (known_type := local.get(f"{fact} {ast.unparse(value)}")) is not None:
            types_by_name[f"{fact} {name}"] = known_type
    if attribute:
        default = HIDDEN if attribute.startswith("_") else READONLY
        types_by_attribute[attribute] = f"{default if visibility is None else visibility}{ctype}"


def _visibility(ctype: str) -> tuple[str | None, str]:
    """Return the declared visibility of an attribute, or None, and its C type."""
    for keyword, visibility in (("public", PUBLIC), ("readonly", READONLY), ("hidden", HIDDEN)):
        if ctype == keyword or ctype.startswith(f"{keyword} "):
            return visibility, ctype.removeprefix(keyword).strip()
    return None, ctype


def declarations(modules: Modules, module: Module) -> str:
    """Return the text of a module's ``.pxd``."""
    generator = Generator(modules)
    return text(generator, module, generator.module(module))


def text(generator: Generator, module: Module, module_types: Declarations) -> str:
    """Return declarations in Cython's syntax."""
    lines = ["cimport cython", *_cimports(generator, module, module_types)]
    lines += _constant_lines(generator, module, module_types.numbers)
    for name, declared in module_types.classes.items():
        lines += ["", *(["@cython.final"] if declared.final else [])]
        lines.append(f"cdef class {name}{f'({declared.base})' if declared.base else ''}:")
        body = [f"cdef {ctype} {item}" for item, ctype in declared.attributes.items()]
        for item, function in declared.methods.items():
            body += _function(function, item, True)
        lines += [f"    {line}" for line in body or ["pass"]]
    for name, function in module_types.functions.items():
        lines += ["", *_function(function, name, False)]
    return "\n".join(lines) + "\n"


def _constant_lines(generator: Generator, module: Module, numbers: dict[str, str]) -> list[str]:
    """Return constants: C literals if the value is known. The module's own assignment has no effect then."""
    lines = []
    for name, ctype in numbers.items():
        value = generator.modules.number(module, ast.Name(name, ast.Load()))
        if type(value) is int and ctype == "long":
            macro = f"{module.name.replace('.', '_')}_{name}"
            lines += ["cdef extern from *:", '    """', f"    #define {macro} ((long){{{value}}})", '    """']
            lines += [f'    long {name} "{macro}"']
        else:
            lines.append(f"cdef {ctype} {name}")
    return lines


def _function(function: Function, name: str, owner: bool) -> list[str]:
    local = ", ".join(f'{item}="{ctype}"' for item, ctype in function.locals.items())
    return [*([f"@cython.locals({local})"] if local else []), function.text(name, owner)]


def _cimports(generator: Generator, module: Module, module_types: Declarations) -> list[str]:
    """Return imports of the classes in declarations, and of the functions of compiled modules."""
    needed = _used_classes(module_types) - set(module_types.classes)
    lines = []
    for name in sorted(needed):
        if definition := generator.find_class(module, name):
            alias = f" as {name}" if name != definition[1] else ""
            lines.append(f"from {definition[0].name} cimport {definition[1]}{alias}")
    for name, (module_name, original_name) in module.imported.items():
        alias = f" as {name}" if name != original_name else ""
        imported_module = generator.modules.find(f"{module_name}.{original_name}")
        if imported_module is not None and _functions(generator, imported_module):
            lines.append(f"from {module_name} cimport {original_name}{alias}")
        origin = generator.modules.origin(module, name)
        if origin and origin[0] is not module and origin[1] in _functions(generator, origin[0]):
            lines.append(f"from {origin[0].name} cimport {origin[1]}{alias}")
    return sorted(set(lines))


def _functions(generator: Generator, module: Module) -> dict[str, Function] | set[str]:
    if module.by_hand:
        return generator.read_pxd(module).functions
    if not module.compiled:
        return set()
    return {
        name
        for name, node in module.functions.items()
        if module.comment_at(node).keywords & {"cdef", "cpdef"}
    }


def _used_classes(module_types: Declarations) -> set[str]:
    """Return the compiled classes that declarations use."""
    ctypes = {function.returns for function in module_types.functions.values()}
    functions = list(module_types.functions.values())
    for declared in module_types.classes.values():
        functions += declared.methods.values()
        ctypes |= {bare(ctype) for ctype in declared.attributes.values()} | {declared.base or "object"}
    for function in functions:
        ctypes |= {function.returns or OBJECT, *function.locals.values()}
        ctypes |= {argument.split(" ")[0] for argument in function.arguments}
    return {ctype for ctype in ctypes if ctype and is_class(ctype)}
