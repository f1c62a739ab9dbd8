"""Parts of users: blocks or policies that replace blocks of a machine.

A *part* is a replaceable block of a machine, with a name such as ``merger``. A replacement is a class of the
user, either a component or a ``Policy``. A policy replaces only the rule by which the machine's own block
chooses. Faults in the user's code become error messages of one line.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators import user_machines
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.module_cache import use_compiled
from fiberscope.base.errors import InputError
from fiberscope.hw.policy import Policy
from fiberscope.sim import Component, SimulationError
from fiberscope.workloads.errors import suggest

if TYPE_CHECKING:
    from fiberscope.accelerators.composition import PartFactory


def parse_parts(texts: Sequence[str]) -> dict[str, PartFactory]:
    """Import the parts of a command line, each written ``name=module:Class`` or ``name=file.py:Class``.

    Modules may be in the current folder. A file may import other files of its folder, as in
    ``user_machines.run_file``.

    Returns:
        The class, or other callable, of each part, by the name of the part.

    Raises:
        InputError: if a part is written in another way, is given twice, or cannot be imported.
    """
    return {
        name: _load(f"{name}={module}:{attribute}", module, attribute)
        for name, (module, attribute) in split_parts(texts).items()
    }


def split_parts(texts: Sequence[str] | None) -> dict[str, tuple[str, str]]:
    """Split the parts of a command line without importing them.

    Args:
        texts: texts such as ``merger=my_blocks:MyMerger``; None for none.

    Returns:
        Module or file, and class, by the name of the part.

    Raises:
        InputError: if a part is written in another way, or is given twice.
    """
    parts: dict[str, tuple[str, str]] = {}
    for text in texts or ():
        name, _, location = text.partition("=")
        # The last colon, since the path of a file may contain others.
        module, _, attribute = location.rpartition(":")
        if not (name and module and attribute):
            raise InputError(
                f"--part {text}: write it as name=module:Class, for example merger=my_blocks:MyMerger"
            )
        if name in parts:
            raise InputError(f"--part {text}: {name} is given twice; leave one out")
        parts[name] = (module, attribute)
    return parts


def _load(text: str, module: str, attribute: str) -> PartFactory:
    loaded = _load_file(text, module) if module.endswith(".py") else _load_module(text, module)
    attribute_value = getattr(loaded, attribute, None)
    if not callable(attribute_value):
        classes = [name for name, value in vars(loaded).items() if inspect.isclass(value)]
        advice = suggest(attribute, classes) if classes else "it has no classes"
        raise InputError(f"--part {text}: {module} has no class {attribute}; {advice}")
    factory: PartFactory = attribute_value
    return factory


def add_policies(
    parts: Mapping[str, PartFactory], blocks: Mapping[str, PartFactory]
) -> dict[str, PartFactory]:
    """Replace each policy by a factory of the machine's own block with this policy; keep other parts.

    The factory raises ``InputError`` if the block accepts no policy, or only policies of another kind.

    Args:
        parts: the user's parts, by name.
        blocks: factories of the machine's blocks, by name.
    """
    return {name: _with_policy(name, part, blocks) for name, part in parts.items()}


def _with_policy(name: str, part: PartFactory, blocks: Mapping[str, PartFactory]) -> PartFactory:
    """Return a factory of the block ``name`` with a policy; return a part that is no policy unchanged."""
    policy: object = part
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        return part

    def make(*arguments: object, **options: object) -> Component:
        block = blocks[name](*arguments, **options)
        kind = getattr(block, "POLICY", None)
        if kind is None:
            raise InputError(f"the part {name}: {origin(part)} is a policy, but this block takes none")
        if not issubclass(policy, kind):
            raise InputError(f"the part {name}: {origin(part)} is no {kind.__name__}, which this block takes")
        setattr(block, "policy", policy())  # noqa: B010  # an attribute of blocks with ``POLICY`` alone
        return block

    # ``origin`` then names the policy, and not this function, in error messages.
    make.__module__, make.__qualname__ = part.__module__, policy.__qualname__
    return make


def _load_file(text: str, file: str) -> ModuleType:
    try:
        return user_machines.run_file(Path(file), "a part of your own is in a Python file")
    except ConfigurationError as error:
        raise InputError(f"--part {text}: {error}") from error


def _load_module(text: str, module: str) -> ModuleType:
    try:
        with _current_folder(), use_compiled():
            return importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever the user's module raises
        raise InputError(f"--part {text}: cannot import {module}: {_fault(error)}") from error


def _fault(error: BaseException) -> str:
    """Describe an error in a user's code, with file and line unless it was raised within ``importlib``."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = "" if "importlib" in frame.filename else f" ({frame.filename}:{frame.lineno})"
    return f"{type(error).__name__}: {error}{line}"


@contextmanager
def _current_folder() -> Iterator[None]:
    """Search modules in the current folder, after all other folders, while the context is active."""
    folder, paths = str(Path.cwd()), list(sys.path)
    # Last, so that a file of the user cannot replace a module of Python or of a package.
    sys.path.append(folder)
    try:
        yield
    finally:
        # Entries of the module itself stay. A folder that was there before stays where it was.
        if sys.path == [*paths, folder]:
            sys.path[:] = paths
        elif folder not in paths and folder in sys.path:
            sys.path.remove(folder)


def check_part(parts: Mapping[str, PartFactory], blocks: Mapping[str, PartFactory]) -> dict[str, PartFactory]:
    """Return factories of the user's parts that check each component that they make.

    A factory raises ``InputError`` if the arguments do not fit the user's class, if the class raises an
    exception, or if it does not make a ``Component``. A ``SimulationError`` of the class is passed on.
    Policies are replaced as in ``add_policies``.

    Args:
        parts: the user's parts, by name.
        blocks: factories of the machine's blocks, by name.
    """
    return {name: _checked(name, make) for name, make in add_policies(parts, blocks).items()}


def _checked(part: str, factory: PartFactory) -> PartFactory:
    """Return the factory with the checks of ``check_part``; ``part`` is the name in error messages."""

    def make_checked(*arguments: object, **options: object) -> Component:
        # Before the call, so that a TypeError within the class is not taken for wrong arguments.
        fault = _misfit(factory, arguments, options)
        if fault:
            raise InputError(
                f"the part {part}: {origin(factory)} cannot be called as the machine calls it: {fault}"
            )
        try:
            component: object = factory(*arguments, **options)
        except (InputError, SimulationError):  # already messages for the user
            raise
        except Exception as error:
            raise InputError(f"the part {part}: {origin(factory)} cannot be made: {_fault(error)}") from error
        if not isinstance(component, Component):
            raise InputError(
                f"the part {part}: {origin(factory)} made {component!r}, which is no fiberscope.sim.Component"
            )
        return component

    return make_checked


def _misfit(factory: PartFactory, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Return Python's message about arguments that do not fit; empty if they fit or have no signature."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        return str(error)
    return ""


def origin(make: PartFactory) -> str:
    """Return the module and the name of a part, without the package that is made for a user's folder."""
    name = getattr(make, "__qualname__", type(make).__qualname__)
    return f"{user_machines.plain_name(make.__module__)}.{name}"
