"""Parameters of a machine as a tree of attributes, for completion in editors and IPython."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fiberscope.accelerators.ranges import ranges
from fiberscope.run.catalogue import list_machine_parameters
from fiberscope.run.find_machine import find
from fiberscope.run.machine_names import MachineName
from fiberscope.workloads.errors import suggest


class Parameter(str):
    """Dotted key of a parameter for ``settings``, with its metadata.

    Attributes:
        default: the default as in the machine's ``config.yaml``.
        range: the valid values.
        description: the effect of the parameter and the source of its default.
    """

    __slots__ = ("default", "description", "range")

    default: object
    description: str
    range: str

    def __repr__(self) -> str:
        """Return the key with its default, its range and its description."""
        return f"{str(self)!r}  # {self.default}; {self.range}; {self.description}"


class ParameterTree:
    """Section of a machine's parameters: an attribute for each section and parameter.

    Args:
        name: the name of the machine, with the section.
        parameters: the parameters of the section, by their keys without the section.
    """

    def __init__(self, name: str, parameters: Mapping[str, Parameter]) -> None:
        self._name = name
        self._parameters = parameters

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (a parameter or a section)
        """Return a parameter or a section.

        Raises:
            AttributeError: there is no such name; the message has the nearest names.
        """
        if name in self._parameters:
            return self._parameters[name]
        prefix = f"{name}."
        section = {
            key.removeprefix(prefix): parameter
            for key, parameter in self._parameters.items()
            if key.startswith(prefix)
        }
        if not section:
            raise AttributeError(f"{self._name} has no parameter {name}; {suggest(name, dir(self))}")
        return ParameterTree(f"{self._name}.{name}", section)

    def __dir__(self) -> list[str]:
        """Return the names of the sections and parameters."""
        return list(dict.fromkeys(key.partition(".")[0] for key in self._parameters))

    def __iter__(self) -> Iterator[Parameter]:
        """Return the parameters of the section in their order."""
        return iter(self._parameters.values())

    def __repr__(self) -> str:
        """Return a line for each parameter."""
        return "\n".join([f"{self._name}:", *(f"  {parameter!r}" for parameter in self)])


def machine(name: MachineName | str) -> ParameterTree:
    """Return the parameters of a machine as attributes: ``machine("gamma").pe.count`` is ``"pe.count"``.

    Args:
        name: a name, ``spec:NAME``, or the path of a user's machine.

    Raises:
        ConfigurationError: there is no such machine.
    """
    accelerator = find(name)
    valid_ranges = ranges(accelerator.configuration)
    tree: dict[str, Parameter] = {}
    for entry in list_machine_parameters(accelerator):
        tree[entry.key] = parameter = Parameter(entry.key)
        parameter.default, parameter.description = entry.value, entry.comment
        parameter.range = str(valid_ranges[entry.key])
    return ParameterTree(accelerator.name, tree)
