"""Text of a module's ``.pxd``: its declarations in Cython's syntax, with the imports that they need."""

from __future__ import annotations

import ast

from fiberscope.compiler.declarations import Generator
from fiberscope.compiler.handwritten_pxd import Declarations, Function
from fiberscope.compiler.modules import Module, Modules
from fiberscope.compiler.types import OBJECT, is_class, strip_visibility


def generate_pxd(modules: Modules, module: Module) -> str:
    """Return the text of a module's ``.pxd``, derived from its source.

    Raises:
        UnsupportedError: the module has a construct that cannot be compiled.
    """
    generator = Generator(modules)
    return format_pxd(generator, module, generator.declare_module(module))


def format_pxd(generator: Generator, module: Module, module_types: Declarations) -> str:
    """Return declarations in Cython's syntax.

    Args:
        generator: has the declarations of other modules, for the imports.
        module: the module that is declared.
        module_types: its declarations.
    """
    lines = ["cimport cython", *_format_cimports(generator, module, module_types)]
    lines += _format_constants(generator, module, module_types.numbers)
    for name, declared in module_types.classes.items():
        lines += ["", *(["@cython.final"] if declared.final else [])]
        lines.append(f"cdef class {name}{f'({declared.base})' if declared.base else ''}:")
        body = [f"cdef {ctype} {item}" for item, ctype in declared.attributes.items()]
        for item, function in declared.methods.items():
            body += _format_function(function, item, is_method=True)
        lines += [f"    {line}" for line in body or ["pass"]]
    for name, function in module_types.functions.items():
        lines += ["", *_format_function(function, name, is_method=False)]
    return "\n".join(lines) + "\n"


def _format_constants(generator: Generator, module: Module, numbers: dict[str, str]) -> list[str]:
    """Return the declarations of constants: C literals for known integers, else C variables.

    The value of a C variable is that of the module's own assignment, which has no effect on a literal.
    """
    lines = []
    for name, ctype in numbers.items():
        value = generator.modules.constant_value(module, ast.Name(name, ast.Load()))
        if type(value) is int and ctype == "long":
            # A compound literal, not a number: the module's assignment to the name must still compile
            macro = f"{module.name.replace('.', '_')}_{name}"
            lines += ["cdef extern from *:", '    """', f"    #define {macro} ((long){{{value}}})", '    """']
            lines += [f'    long {name} "{macro}"']
        else:
            lines.append(f"cdef {ctype} {name}")
    return lines


def _format_function(function: Function, name: str, *, is_method: bool) -> list[str]:
    types_text = ", ".join(f'{item}="{ctype}"' for item, ctype in function.locals.items())
    return [
        *([f"@cython.locals({types_text})"] if types_text else []),
        function.format(name, is_method=is_method),
    ]


def _format_cimports(generator: Generator, module: Module, module_types: Declarations) -> list[str]:
    """Return imports of the classes in declarations, and of the functions of compiled modules.

    A module that is imported as a name is imported as a whole if it has C functions.
    """
    needed = _list_used_classes(module_types) - set(module_types.classes)
    lines = []
    for name in sorted(needed):
        if definition := generator.find_class(module, name):
            alias = f" as {name}" if name != definition[1] else ""
            lines.append(f"from {definition[0].name} cimport {definition[1]}{alias}")
    for name, (module_name, original_name) in module.imports.items():
        alias = f" as {name}" if name != original_name else ""
        imported_module = generator.modules.find(f"{module_name}.{original_name}")
        if imported_module is not None and _list_c_functions(generator, imported_module):
            lines.append(f"from {module_name} cimport {original_name}{alias}")
        origin = generator.modules.find_definition(module, name)
        if origin and origin[0] is not module and origin[1] in _list_c_functions(generator, origin[0]):
            lines.append(f"from {origin[0].name} cimport {origin[1]}{alias}")
    return sorted(set(lines))


def _list_c_functions(generator: Generator, module: Module) -> dict[str, Function] | set[str]:
    """Return the names of a module's C functions, as a set or as the keys of a dictionary."""
    if module.has_handwritten_pxd:
        return generator.read_pxd(module).functions
    if not module.is_compiled:
        return set()
    return {
        name
        for name, node in module.functions.items()
        if module.comment_at(node).keywords & {"cdef", "cpdef"}
    }


def _list_used_classes(module_types: Declarations) -> set[str]:
    """Return the names in declarations that look like compiled classes; not all need be compiled."""
    ctypes = {function.returns for function in module_types.functions.values()}
    functions = list(module_types.functions.values())
    for declared in module_types.classes.values():
        functions += declared.methods.values()
        ctypes |= {strip_visibility(ctype) for ctype in declared.attributes.values()} | {
            declared.base or "object"
        }
    for function in functions:
        ctypes |= {function.returns or OBJECT, *function.locals.values()}
        ctypes |= {argument.split(" ")[0] for argument in function.arguments}
    return {ctype for ctype in ctypes if ctype and is_class(ctype)}
