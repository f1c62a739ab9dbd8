"""Declarations of a module for the compiler, derived from its annotations and assignments.

The functions pass on a dictionary ``types_by_name``. Its keys are texts of expressions, and its values are C
types: ``name``, ``self.name`` for an attribute, and ``self.name()`` for the result of a method. Two further
kinds of keys are ``element NAME``, the C type of the elements of a list, and ``class NAME``, the name of the
annotated class, which need not be compiled.
"""

from __future__ import annotations

import ast

from fiberscope.compiler import handwritten_pxd
from fiberscope.compiler.handwritten_pxd import ClassDeclaration, Declarations, Function
from fiberscope.compiler.methods import build_signature, find_method_signature, infer_local_types
from fiberscope.compiler.modules import Module, Modules, UnsupportedError
from fiberscope.compiler.types import HIDDEN, OBJECT, PUBLIC, READONLY, Types, number_type, strip_visibility


class Generator:
    """Cached declarations of modules.

    A hand-written ``.pxd`` beside a module takes the place of all derived declarations of its classes.

    Args:
        modules: finds modules by name.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._declared: dict[tuple[str, str], ClassDeclaration] = {}
        self._adopted: dict[tuple[str, str], tuple[Module, str]] = {}
        self._handwritten: dict[str, Declarations] = {}

    def is_compiled(self, module: Module, name: str) -> bool:
        """Return whether the class ``name`` of a module is compiled."""
        if module.has_handwritten_pxd:
            return name in self.read_pxd(module).classes
        node = module.classes.get(name)
        return module.is_compiled and node is not None and self._can_compile(module, node)

    def read_pxd(self, module: Module) -> Declarations:
        """Return the declarations in the hand-written ``.pxd`` of a module, which must exist."""
        if module.name not in self._handwritten:
            self._handwritten[module.name] = handwritten_pxd.parse_pxd(module.pxd.read_text())
        return self._handwritten[module.name]

    def _can_compile(self, module: Module, node: ast.ClassDef) -> bool:
        """Return whether a class of a compiled module can be compiled.

        The class has no decorators, no keywords such as a metaclass, and at most one base class, which is
        compiled and written as a plain name. The comment ``object`` at the class keeps it in Python.
        """
        if node.decorator_list or node.keywords or OBJECT in module.comment_at(node).keywords:
            return False
        if not node.bases:
            return True
        base = node.bases[0]
        origin = self.modules.find_definition(module, base.id) if isinstance(base, ast.Name) else None
        return len(node.bases) == 1 and origin is not None and self.is_compiled(*origin)

    def declare_module(self, module: Module) -> Declarations:
        """Return the declarations of a module, with the C types of local names.

        Raises:
            UnsupportedError: a method overrides or calls what a compiled method cannot.
        """
        types = Types(self.modules, module, self)
        module_types = Declarations()
        for name in module.classes:
            if self.is_compiled(module, name):
                module_types.classes[name] = self.declare_class(module, name)
                for item in module.classes[name].body:
                    if isinstance(item, ast.FunctionDef) and item.name in module_types.classes[name].methods:
                        function = module_types.classes[name].methods[item.name]
                        # Last, since locals need all attributes of all classes in reach
                        function.locals = infer_local_types(
                            types, item, module_types.classes[name].types_by_name
                        )
        for name, node in module.functions.items():
            if kinds := module.comment_at(node).keywords & {"cdef", "cpdef"}:
                function = build_signature(types, node, kinds.pop(), module.comment_at(node).keywords)
                function.locals = infer_local_types(types, node, {})
                module_types.functions[name] = function
        module_types.numbers = self._constant_types(module, module_types)
        return module_types

    def declare_class(self, module: Module, name: str) -> ClassDeclaration:
        """Return the declaration of a compiled class of a module, without the C types of local names.

        Classes can refer to each other. The result may then be incomplete while another one is derived.
        """
        if module.has_handwritten_pxd:
            return self.read_pxd(module).classes[name]
        if (module.name, name) not in self._declared:
            node = module.classes[name]
            declared = ClassDeclaration(self._base(module, name), "final" in module.comment_at(node).keywords)
            self._declared[module.name, name] = declared  # preliminary, for mutual references
            self._fill_class(module, node, declared)
        return self._declared[module.name, name]

    def class_chain(self, module: Module, name: str) -> list[tuple[Module, ClassDeclaration]]:
        """Return a class and its base classes, the nearest first, each with its module."""
        declared = self.declare_class(module, name)
        origin = self.find_class(module, declared.base) if declared.base else None
        return [(module, declared), *(self.class_chain(*origin) if origin else [])]

    def find_class(self, module: Module, name: str) -> tuple[Module, str] | None:
        """Return the module that defines a compiled class, and the class's name there; None if there is none.

        The name is looked up in the module, then among adopted classes, then in the modules of base classes.
        """
        definition = self.modules.find_definition(module, name) or self._adopted.get((module.name, name))
        if definition is None:  # a comment may use names from the modules of base classes
            bases = [
                base.id
                for node in module.classes.values()
                for base in node.bases
                if isinstance(base, ast.Name)
            ]
            base_origins = [self.modules.find_definition(module, base) for base in bases]
            definitions = [
                self.find_class(base[0], name) for base in base_origins if base and base[0] is not module
            ]
            return next(filter(None, definitions), None)
        return definition if self.is_compiled(*definition) else None

    def adopt(self, module: Module, definition: tuple[Module, str]) -> bool:
        """Make a class known in a module that does not import it; return whether its name is unambiguous.

        The name is ambiguous if it means another class in the module. Such a class cannot be declared there.

        Args:
            module: the module that uses the class, for example as the type of an inherited attribute.
            definition: the module that defines the class, and the class's name there.
        """
        if self.modules.find_definition(module, definition[1]) is None:
            self._adopted.setdefault((module.name, definition[1]), definition)
        own_definition = self.find_class(module, definition[1])
        return own_definition is not None and own_definition[0] is definition[0]

    def _base(self, module: Module, name: str) -> str | None:
        bases = module.classes[name].bases
        return bases[0].id if bases and isinstance(bases[0], ast.Name) else None

    def _fill_class(self, module: Module, node: ast.ClassDef, class_types: ClassDeclaration) -> None:
        """Add the attributes and methods of a class to its preliminary declaration."""
        types = Types(self.modules, module, self)
        base_types = [declared for _, declared in self.class_chain(module, node.name)[1:]]
        types_by_name = class_types.types_by_name
        # The farthest base class first, so that a nearer class overrides its types
        for base in reversed(base_types):
            types_by_name |= base.types_by_name
            types_by_name |= {
                f"self.{name}": strip_visibility(ctype) for name, ctype in base.attributes.items()
            }
        if "open" in module.comment_at(node).keywords:
            # Instances of an open class take attributes that are not declared
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
        # After the results of methods, with which attributes may be initialized
        own_types = attribute_types(types, node, types_by_name)
        class_types.attributes |= {name: ctype for name, ctype in own_types.items() if name not in inherited}
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                typed_method = self._declare_method(types, item, base_types)
                if typed_method:
                    _refuse_super(module, item, typed_method)
                    class_types.methods[item.name] = typed_method
                else:  # values of Python have no known type
                    types_by_name[f"self.{item.name}()"] = OBJECT

    def _declare_method(
        self, types: Types, node: ast.FunctionDef, base_types: list[ClassDeclaration]
    ) -> Function | None:
        """Return the declaration of a method; a method that overrides another has the same declaration.

        The override takes the C types of the base class, whatever its own annotations are. None for a method
        of Python that overrides no compiled method.

        Raises:
            UnsupportedError: the base class does not allow the override.
        """
        overridden = next((base.methods[node.name] for base in base_types if node.name in base.methods), None)
        if overridden is None:
            return find_method_signature(types, node)
        if overridden.inline or overridden.final:
            raise UnsupportedError(
                f"{types.module.path}:{node.lineno}: {node.name} overrides a method that is compiled into "
                "its callers; give your method another name"
            )
        return Function(overridden.kind, overridden.returns, overridden.arguments, overridden.raises)

    def _constant_types(self, module: Module, module_types: Declarations) -> dict[str, str]:
        """Return the C types of the constants that compiled bodies use, by name in the module."""
        used: set[str] = set()
        for name in (*module_types.classes, *module_types.functions):
            node = module.classes.get(name) or module.functions[name]
            for statement in node.body if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(statement, ast.FunctionDef):
                    used |= {item.id for item in ast.walk(statement) if isinstance(item, ast.Name)}
        return {name: ctype for name in sorted(used) if (ctype := self._constant_type(module, name))}

    def _constant_type(self, module: Module, name: str) -> str:
        # By convention only a name in capitals is never assigned again
        if not name.strip("_").isupper():
            return ""
        if comment := module.number_type(name):
            return "" if comment == OBJECT else comment
        ctype = number_type(self.modules.constant_value(module, ast.Name(name, ast.Load())))
        return "" if ctype == OBJECT else ctype


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


def attribute_types(types: Types, node: ast.ClassDef, types_by_name: dict[str, str]) -> dict[str, str]:
    """Return the C types of the attributes of a class.

    The first type of an attribute counts: its declaration in the class body, else its first assignment in
    ``__init__``, else in the other methods. Only a comment ``NAME=ctype`` at a later assignment replaces it.
    Each type begins with the visibility of the attribute for Python.

    Args:
        types: finds C types in the module of the class.
        node: the class.
        types_by_name: C types of known names; the attributes are added as ``self.name``.
    """
    types_by_attribute: dict[str, str] = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value is None:
            types_by_attribute[item.target.id] = _find_annotated_type(types, item, types_by_name)
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    for item in sorted(methods, key=lambda method: method.name != "__init__"):
        _add_attribute_types(types, item, types_by_attribute, types_by_name, list_argument_types(types, item))
    return types_by_attribute


def list_argument_types(types: Types, function: ast.FunctionDef) -> dict[str, str]:
    """Return the declared arguments of a function: C types, classes, contents of lists.

    The keys are ``NAME``, ``class NAME`` and ``element NAME``. An argument without an annotation is left out.
    """
    types_by_name: dict[str, str] = {}
    for item in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if item.annotation is not None:
            add_types(types, types_by_name, item.arg, types.annotation_type(item.annotation), item.annotation)
            # The class of an annotation such as ``Config | None`` is its first word
            types_by_name[f"class {item.arg}"] = ast.unparse(item.annotation).split(" ")[0]
    return types_by_name


def _find_annotated_type(types: Types, item: ast.AnnAssign, types_by_name: dict[str, str]) -> str:
    comment = types.module.comment_at(item)
    name = ast.unparse(item.target)
    visibility, ctype = _split_visibility(comment.type_of(name) or "")
    ctype = ctype or types.annotation_type(item.annotation)
    add_types(types, types_by_name, f"self.{name}", ctype, item.annotation)
    return f"{PUBLIC if visibility is None else visibility}{ctype}"


def add_types(
    types: Types, types_by_name: dict[str, str], name: str, ctype: str, annotation: ast.expr | None
) -> None:
    """Record the C type of a name; for a list or sequence, also that of its elements as ``element NAME``."""
    types_by_name[name] = ctype
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in ("list", "Sequence"):
        element = types.annotation_type(annotation.slice)
        if element != OBJECT:
            types_by_name[f"element {name}"] = element


def _add_attribute_types(
    types: Types,
    item: ast.FunctionDef,
    types_by_attribute: dict[str, str],
    types_by_name: dict[str, str],
    local_types: dict[str, str],
) -> None:
    """Add the types of the attributes that a method assigns; ``infer_local_types`` gets those of locals."""
    for statement in ast.walk(item):
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _assign(
                types,
                statement,
                statement.target,
                statement.value,
                types_by_attribute,
                types_by_name,
                local_types,
            )
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            for part_target, value in _pair_targets(target, statement.value):
                _assign(types, statement, part_target, value, types_by_attribute, types_by_name, local_types)


def _pair_targets(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Pair each target with its value; several targets of one value have an element of the value each."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    if isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    # All elements are taken to have one type, that of element 0
    item = value.elt if isinstance(value, ast.GeneratorExp) else ast.Subscript(value, ast.Constant(0))
    return [(element, item) for element in target.elts]


def _assign(
    types: Types,
    statement: ast.Assign | ast.AnnAssign,
    target: ast.expr,
    value: ast.expr,
    types_by_attribute: dict[str, str],
    types_by_name: dict[str, str],
    local_types: dict[str, str],
) -> None:
    """Derive types from the assignment to one target.

    An attribute that has a type keeps it, unless the comment at the statement names the attribute. A target
    other than a name or an attribute of ``self`` is ignored.
    """
    name, comment = ast.unparse(target), types.module.comment_at(statement)
    attribute = (
        target.attr if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" else ""
    )
    if (not attribute and not isinstance(target, ast.Name)) or (
        attribute and name in types_by_name and attribute not in comment.types
    ):
        return
    annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
    visibility, ctype = _split_visibility(comment.type_of(attribute or name) or "")
    if not ctype:
        ctype = (
            types.annotation_type(annotation)
            if annotation is not None
            else types.expression_type(value, types_by_name | local_types)
        )
    add_types(types, types_by_name if attribute else local_types, name, ctype, annotation)
    # ``self.x = x``: the attribute has the class, or the elements, of the argument
    for fact in ("class", "element"):
        if attribute and (known_type := local_types.get(f"{fact} {ast.unparse(value)}")) is not None:
            types_by_name[f"{fact} {name}"] = known_type
    if attribute:
        default = HIDDEN if attribute.startswith("_") else READONLY
        types_by_attribute[attribute] = f"{default if visibility is None else visibility}{ctype}"


def _split_visibility(ctype: str) -> tuple[str | None, str]:
    """Return the declared visibility of an attribute, or None, and its C type."""
    for keyword, visibility in (("public", PUBLIC), ("readonly", READONLY), ("hidden", HIDDEN)):
        if ctype == keyword or ctype.startswith(f"{keyword} "):
            return visibility, ctype.removeprefix(keyword).strip()
    return None, ctype
