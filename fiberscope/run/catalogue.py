"""Tables of the available machines, matrices and parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiberscope import accelerators, workloads
from fiberscope.accelerators import configuration
from fiberscope.accelerators.ranges import Range, ranges
from fiberscope.run.find_machine import find
from fiberscope.run.machine_names import MachineName
from fiberscope.workloads.cache import find_location

if TYPE_CHECKING:
    import pandas as pd

    from fiberscope.accelerators.machine import Accelerator

_SOURCE = re.compile(r"^\[([^\[\]]*)\];? *| *\[([^\[\]]*)\]$")  # in a comment: "processing elements [T4]"
_QUANTITY = re.compile(r"[\d.]+ +([A-Za-z/]+)")  # a default with a unit: "3 MiB"
_COUNTED = re.compile(r"(cycles|bytes|bits|tokens|lines)\b")  # a counted unit at the start of a comment


def machines() -> pd.DataFrame:
    """List the accelerators, including those of installed packages.

    Returns:
        A row per machine, with ``name`` and ``summary``; a machine that cannot be loaded has its error there.
    """
    return _build_frame([{"name": name, "summary": summary} for name, summary in collect_summaries().items()])


def collect_summaries() -> dict[str, str]:
    """Return the summary of each machine by name, or the error of a machine that cannot be loaded."""
    return {name: _summarize(name) for name in (*accelerators.names(), *accelerators.installed())}


def _summarize(name: str) -> str:
    try:
        return accelerators.summary(name)
    except accelerators.ConfigurationError as error:
        return str(error)


def matrices() -> pd.DataFrame:
    """List the named matrices.

    Returns:
        A row per matrix, with ``name``, ``rows``, ``columns``, ``nonzeros``, ``kind``, ``collection`` and
        ``here``: the local place of the matrix, empty if a run would download it.
    """
    return _build_frame(
        [
            {
                "name": entry.name,
                "rows": entry.shape[0],
                "columns": entry.shape[1],
                "nonzeros": entry.nonzeros,
                "kind": entry.kind,
                "collection": entry.collection,
                "here": find_location(entry),
            }
            for entry in list_matrix_entries()
        ]
    )


def list_matrix_entries() -> list[workloads.Entry]:
    """Return the registry's matrices, sorted by name."""
    entries = (entry for entry in workloads.entries() if entry.is_matrix)
    return sorted(entries, key=lambda entry: entry.name.lower())


def parameters(machine: MachineName | str) -> pd.DataFrame:
    """List the parameters of a machine, in the order of its ``config.yaml``.

    Args:
        machine: a name, ``spec:NAME``, or the path of a user's machine.

    Returns:
        A row per parameter, with ``parameter`` (the dotted key for ``settings``), ``default`` as in the file,
        ``unit``, ``range``, ``description`` and ``source``. ``attrs["sources"]`` has the lines that explain
        the abbreviations of sources.

    Raises:
        ConfigurationError: there is no such machine.
    """
    accelerator = find(machine)
    valid_ranges = ranges(accelerator.configuration)
    rows = [
        _build_row(parameter, valid_ranges[parameter.key])
        for parameter in list_machine_parameters(accelerator)
    ]
    frame = _build_frame(rows)
    frame.attrs["sources"] = configuration.header(accelerator.shipped)
    return frame


def list_machine_parameters(accelerator: Accelerator[Any]) -> list[configuration.Parameter]:
    """Return the shipped parameters of a machine, its own before those of shared parts."""
    machine_parameters = configuration.parameters(accelerator.shipped)
    keys = set(configuration.leaf_keys(accelerator.configuration))
    shared = [parameter for file in accelerator.defaults for parameter in configuration.parameters(file)]
    return [*machine_parameters, *(parameter for parameter in shared if parameter.key in keys)]


def _build_row(parameter: configuration.Parameter, valid_range: Range) -> dict[str, object]:
    source = _SOURCE.search(parameter.comment)
    return {
        "parameter": parameter.key,
        "default": parameter.value,
        "unit": _find_unit(parameter),
        "range": str(valid_range),
        "description": _SOURCE.sub("", parameter.comment),
        "source": (source[1] or source[2]) if source else "",
    }


def _find_unit(parameter: configuration.Parameter) -> str:
    """Return the unit of the default, or the counted unit of the description; else an empty text."""
    quantity = _QUANTITY.fullmatch(str(parameter.value))
    match = _COUNTED.match(parameter.comment)
    return quantity[1] if quantity else match[1] if match and _is_number(parameter.value) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _build_frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415  (it takes time to load)

    return pd.DataFrame(rows)
