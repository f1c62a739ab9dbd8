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
            return name in self.read(module).classes
        node = module.classes.get(name)
        return module.compiled and node is not None and self._can_be(module, node)

    def read(self, module: Module) -> Declarations:
        """Read the ``.pxd`` beside a module."""
        if module.name not in self._by_hand:
            self._by_hand[module.name] = handwritten_pxd.read(module.pxd.read_text())
        return self._by_hand[module.name]

    def _can_be(self, module: Module, node: ast.ClassDef) -> bool:
        """Return whether a class can be compiled: it has no decorators, and no uncompiled base class."""
        if node.decorator_list or node.keywords or OBJECT in module.comment_at(node).words:
            return False
        if not node.bases:
            return True
        base = node.bases[0]
        place = self.modules.origin(module, base.id) if isinstance(base, ast.Name) else None
        return len(node.bases) == 1 and place is not None and self.compiled(*place)

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
            if kinds := module.comment_at(node).words & {"cdef", "cpdef"}:
                function = signature(types, node, kinds.pop(), module.comment_at(node).words)
                function.locals = typed_locals(types, node, {})
                module_types.functions[name] = function
        module_types.numbers = self._numbers(module, module_types)
        return module_types

    def declared(self, module: Module, name: str) -> Declared:
        """Return a compiled class of a module."""
        if module.by_hand:
            return self.read(module).classes[name]
        if (module.name, name) not in self._declared:
            node = module.classes[name]
            declared = Declared(self._base(module, name), "final" in module.comment_at(node).words)
            self._declared[module.name, name] = declared  # preliminary, for mutual references
            self._declare(module, node, declared)
        return self._declared[module.name, name]

    def chain(self, module: Module, name: str) -> list[tuple[Module, Declared]]:
        """Return a class and its base classes, the nearest first, each with its module."""
        declared = self.declared(module, name)
        place = self.place(module, declared.base) if declared.base else None
        return [(module, declared), *(self.chain(*place) if place else [])]

    def place(self, module: Module, name: str) -> tuple[Module, str] | None:
        """Return the module that defines a compiled class, and the class's name there."""
        place = self.modules.origin(module, name) or self._adopted.get((module.name, name))
        if place is None:  # a comment may use names from the modules of base classes
            bases = [
                base.id
                for node in module.classes.values()
                for base in node.bases
                if isinstance(base, ast.Name)
            ]
            above = [self.modules.origin(module, base) for base in bases]
            places = [self.place(base[0], name) for base in above if base and base[0] is not module]
            return next(filter(None, places), None)
        return place if self.compiled(*place) else None

    def adopt(self, module: Module, place: tuple[Module, str]) -> bool:
        """Make a class known in a module that does not import it; return whether its name is unambiguous."""
        if self.modules.origin(module, place[1]) is None:
            self._adopted.setdefault((module.name, place[1]), place)
        own_place = self.place(module, place[1])
        return own_place is not None and own_place[0] is place[0]

    def _base(self, module: Module, name: str) -> str | None:
        bases = module.classes[name].bases
        return bases[0].id if bases and isinstance(bases[0], ast.Name) else None

    def _declare(self, module: Module, node: ast.ClassDef, class_types: Declared) -> None:
        types = Types(self.modules, module, self)
        above = [declared for _, declared in self.chain(module, node.name)[1:]]
        types_by_name = class_types.types_by_name
        for base in reversed(above):
            types_by_name |= base.types_by_name
            types_by_name |= {f"self.{name}": bare(ctype) for name, ctype in base.attributes.items()}
        if "open" in module.comment_at(node).words:
            class_types.attributes["__dict__"] = "dict"
        inherited = {name for base in above for name in base.attributes}
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                types_by_name[f"self.{item.name}()"] = types.annotation_type(item.returns)
        for base in above:
            types_by_name |= {
                f"self.{name}()": typed_method.returns
                for name, typed_method in base.methods.items()
                if typed_method.returns
            }
        own = attributes(types, node, types_by_name)
        class_types.attributes |= {name: ctype for name, ctype in own.items() if name not in inherited}
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                typed_method = self._method(types, item, above)
                if typed_method:
                    _refuse_super(module, item, typed_method)
                    class_types.methods[item.name] = typed_method
                else:  # values of Python have no known type
                    types_by_name[f"self.{item.name}()"] = OBJECT

    def _method(self, types: Types, node: ast.FunctionDef, above: list[Declared]) -> Function | None:
        """Return the declaration of a method; a method that overrides another has the same declaration.

        Raises:
            UnsupportedError: the base class does not allow the override.
        """
        overridden = next((base.methods[node.name] for base in above if node.name in base.methods), None)
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
            for part in node.body if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(part, ast.FunctionDef):
                    used |= {item.id for item in ast.walk(part) if isinstance(item, ast.Name)}
        return {name: ctype for name in sorted(used) if (ctype := self._number(module, name))}

    def _number(self, module: Module, name: str) -> str:
        if not name.strip("_").isupper():
            return ""
        if comment := module.number_said(name):
            return "" if comment == OBJECT else comment
        kind = type(self.modules.number(module, ast.Name(name, ast.Load())))
        return {int: "long", float: "double"}.get(kind, "")


def _refuse_super(module: Module, node: ast.FunctionDef, function: Function) -> None:
    """Refuse ``super()`` in a C method, where it would raise an error at run time.

    Raises:
        UnsupportedError: naming the place and the remedy.
    """
    for part in ast.walk(node) if function.kind == "cdef" else ():
        if isinstance(part, ast.Call) and ast.unparse(part) == "super()":
            raise UnsupportedError(
                f"{module.path}:{part.lineno}: {node.name} is compiled as a C method, which has no super(); "
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
    for part in ast.walk(item):
        if isinstance(part, ast.AnnAssign) and part.value is not None:
            _assign(types, part, part.target, part.value, types_by_attribute, types_by_name, local)
        if not isinstance(part, ast.Assign):
            continue
        for target in part.targets:
            for part_target, value in _pairs(target, part.value):
                _assign(types, part, part_target, value, types_by_attribute, types_by_name, local)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Pair each target with its value; several targets of one value have an element of the value each."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    if isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    each = value.elt if isinstance(value, ast.GeneratorExp) else ast.Subscript(value, ast.Constant(0))
    return [(element, each) for element in target.elts]


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
    own = target.attr if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" else ""
    if (not own and not isinstance(target, ast.Name)) or (
        own and name in types_by_name and own not in comment.types
    ):
        return
    annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
    visibility, ctype = _visibility(comment.type_of(own or name) or "")
    if not ctype:
        ctype = (
            types.annotation_type(annotation)
            if annotation is not None
            else types.expression_type(value, types_by_name | local)
        )
    note(types, types_by_name if own else local, name, ctype, annotation)
    for what in ("class", "element"):
        if own and (held := local.get(f"{what} {ast.unparse(value)}")) is not None:
            types_by_name[f"{what} {name}"] = held
    if own:
        default = HIDDEN if own.startswith("_") else READONLY
        types_by_attribute[own] = f"{default if visibility is None else visibility}{ctype}"


def _visibility(ctype: str) -> tuple[str | None, str]:
    """Return the declared visibility of an attribute, or None, and its C type."""
    for word, visibility in (("public", PUBLIC), ("readonly", READONLY), ("hidden", HIDDEN)):
        if ctype == word or ctype.startswith(f"{word} "):
            return visibility, ctype.removeprefix(word).strip()
    return None, ctype


def declarations(modules: Modules, module: Module) -> str:
    """Return the text of a module's ``.pxd``."""
    generator = Generator(modules)
    return text(generator, module, generator.module(module))


def text(generator: Generator, module: Module, module_types: Declarations) -> str:
    """Return declarations in Cython's syntax."""
    parts = ["cimport cython", *_cimports(generator, module, module_types)]
    parts += _of_numbers(generator, module, module_types.numbers)
    for name, declared in module_types.classes.items():
        parts += ["", *(["@cython.final"] if declared.final else [])]
        parts.append(f"cdef class {name}{f'({declared.base})' if declared.base else ''}:")
        body = [f"cdef {ctype} {item}" for item, ctype in declared.attributes.items()]
        for item, function in declared.methods.items():
            body += _function(function, item, True)
        parts += [f"    {line}" for line in body or ["pass"]]
    for name, function in module_types.functions.items():
        parts += ["", *_function(function, name, False)]
    return "\n".join(parts) + "\n"


def _of_numbers(generator: Generator, module: Module, numbers: dict[str, str]) -> list[str]:
    """Return constants: C literals if the value is known. The module's own assignment has no effect then."""
    parts = []
    for name, ctype in numbers.items():
        value = generator.modules.number(module, ast.Name(name, ast.Load()))
        if type(value) is int and ctype == "long":
            macro = f"{module.name.replace('.', '_')}_{name}"
            parts += ["cdef extern from *:", '    """', f"    #define {macro} ((long){{{value}}})", '    """']
            parts += [f'    long {name} "{macro}"']
        else:
            parts.append(f"cdef {ctype} {name}")
    return parts


def _function(function: Function, name: str, owner: bool) -> list[str]:
    local = ", ".join(f'{item}="{ctype}"' for item, ctype in function.locals.items())
    return [*([f"@cython.locals({local})"] if local else []), function.text(name, owner)]


def _cimports(generator: Generator, module: Module, module_types: Declarations) -> list[str]:
    """Return imports of the classes in declarations, and of the functions of compiled modules."""
    needed = _used_classes(module_types) - set(module_types.classes)
    lines = []
    for name in sorted(needed):
        if place := generator.place(module, name):
            alias = f" as {name}" if name != place[1] else ""
            lines.append(f"from {place[0].name} cimport {place[1]}{alias}")
    for name, (above, there) in module.imported.items():
        alias = f" as {name}" if name != there else ""
        whole = generator.modules.named(f"{above}.{there}")
        if whole is not None and _functions(generator, whole):
            lines.append(f"from {above} cimport {there}{alias}")
        origin = generator.modules.origin(module, name)
        if origin and origin[0] is not module and origin[1] in _functions(generator, origin[0]):
            lines.append(f"from {origin[0].name} cimport {origin[1]}{alias}")
    return sorted(set(lines))


def _functions(generator: Generator, module: Module) -> dict[str, Function] | set[str]:
    if module.by_hand:
        return generator.read(module).functions
    if not module.compiled:
        return set()
    return {
        name for name, node in module.functions.items() if module.comment_at(node).words & {"cdef", "cpdef"}
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
