"""Parser of hand-written ``.pxd`` files: classes with their attributes and methods, and functions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CLASS = re.compile(r"^cdef class (\w+)(?:\((\w+)\))?:")
# Groups: indentation, kind, inline, result, name, arguments, exception clause
_FUNCTION = re.compile(r"^( *)(cdef|cpdef) (inline )?([^(=]*?) ?(\w+)\((.*)\) ?(noexcept|except[^:]*)?:?$")
# Groups: indentation, visibility, type, names
_ATTRIBUTE = re.compile(
    r"^( *)cdef (readonly |public )?((?:const |unsigned |signed )*\w+(?:\[::1\])?) (\w+(?:, *\w+)*)$"
)


@dataclass
class Function:
    """A C function or method.

    Attributes:
        kind: ``cdef`` or ``cpdef``.
        returns: C type of the result, empty for ``object``.
        arguments: C arguments without ``self``.
        raises: exception clause, such as ``except -1``; empty if none is needed.
        inline: whether the compiler is advised to inline calls.
        locals: C types of local names.
        final: whether no class may override the method, as for an inline method.
    """

    kind: str
    returns: str
    arguments: tuple[str, ...]
    raises: str = ""
    inline: bool = False
    locals: dict[str, str] = field(default_factory=dict)
    final: bool = False

    def format(self, name: str, *, is_method: bool) -> str:
        """Return the declaration in Cython's syntax, under this name; without ``locals`` and ``final``.

        Both are decorators, which have lines of their own.
        """
        parameters = ", ".join([*(["self"] if is_method else []), *self.arguments])
        inline = "inline " if self.inline else ""
        returns = f"{self.returns} " if self.returns else ""
        return f"{self.kind} {inline}{returns}{name}({parameters}) {self.raises}".rstrip()


@dataclass
class ClassDeclaration:
    """A compiled class.

    Attributes:
        base: name of the base class, if it is compiled.
        final: whether no class may derive from the class.
        attributes: C type by name, after ``readonly`` or ``public``.
        methods: methods by name.
        types_by_name: further types of ``self``'s attributes, see ``Types.expression_type``.
    """

    base: str | None = None
    final: bool = False
    attributes: dict[str, str] = field(default_factory=dict)
    methods: dict[str, Function] = field(default_factory=dict)
    types_by_name: dict[str, str] = field(default_factory=dict)


@dataclass
class Declarations:
    """Declarations of a module.

    Attributes:
        numbers: C types of constants, by name.
        classes, functions: compiled classes and C functions, by name.
    """

    numbers: dict[str, str] = field(default_factory=dict)
    classes: dict[str, ClassDeclaration] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


def parse_pxd(text: str) -> Declarations:
    """Parse the declarations of a ``.pxd``; lines of another form, such as bodies, are ignored.

    A declaration must be on one line, and the attributes of a class must be indented by four blanks.
    """
    declarations = Declarations()
    # Takes the indented declarations before the first class, as of ``cdef extern``, and is dropped
    current = ClassDeclaration()
    final = False
    local: dict[str, str] = {}
    for line in text.splitlines():
        if match := _CLASS.match(line):
            current = declarations.classes[match[1]] = ClassDeclaration(match[2], final)
        elif match := _FUNCTION.match(line):
            _, kind, inline, returns, name, arguments, raises = match.groups()
            argument_names = tuple(
                argument for argument in re.split(r", *", arguments) if argument not in ("", "self")
            )
            function = Function(kind, returns, argument_names, raises or "", bool(inline), local, final)
            (current.methods if match[1] else declarations.functions)[name] = function
        elif match := _ATTRIBUTE.match(line):
            _, visibility, ctype, names = match.groups()
            # Deeper than four blanks is a local name in a body, which is dropped
            target = (
                declarations.numbers if not match[1] else current.attributes if len(match[1]) == 4 else {}
            )
            target |= dict.fromkeys(re.split(r", *", names), f"{visibility or ''}{ctype}")
        elif match := re.match(r" *@cython\.locals\((.*)\)$", line):
            local = _parse_locals(match[1])
            continue
        elif line.strip() == "@cython.final":
            final = True
            continue
        # Decorators apply to the next declaration only; their own lines have continued above
        final, local = False, {}
    return declarations


def _parse_locals(text: str) -> dict[str, str]:
    """Parse the arguments of ``@cython.locals``: ``cython.uint`` becomes ``unsigned int``, for example."""
    assignments = [part.split("=") for part in re.split(r", *(?=\w+=)", text)]
    return {
        name: ctype.strip("\"'").replace("cython.u", "unsigned ").replace("cython.", "")
        for name, ctype in assignments
    }
