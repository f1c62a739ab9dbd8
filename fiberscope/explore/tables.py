"""Tables in a machine's folder that studies share (published, designs, ablations), and their runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from fiberscope.accelerators.yaml_layer import read_text, yaml_errors
from fiberscope.base.errors import InputError
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.report.document import Report
from fiberscope.run.api import simulate
from fiberscope.workloads import Workload, WorkloadError, load

Schema = TypeVar("Schema")


def read_table(path: Path, schema: type[Schema], machine: str) -> Schema:
    """Read a table from a YAML file.

    Args:
        path: the path of the file.
        schema: the pydantic type of the content.
        machine: the name of the machine, for messages.

    Raises:
        InputError, ConfigurationError: the file cannot be read, is empty, or is invalid.
    """
    name = f"{machine}/{path.name}"
    text = read_text(path, name)
    with yaml_errors(name):
        document = yaml.safe_load(text)  # anchors are allowed, because many figures share a source
    if document is None:
        raise InputError(f"{name}: is empty; docs/how_to_add_a_machine.md says what it should hold")
    try:
        return TypeAdapter(schema).validate_python(document)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        location = [name, ".".join(str(part) for part in fault["loc"])]
        raise InputError(": ".join([*filter(None, location), fault["msg"]])) from error


def simulate_to_end(*operands: Any, **options: Any) -> Report:  # noqa: ANN401  (those of ``simulate``)
    """Simulate to the end, with the arguments of ``simulate``.

    Raises:
        KeyboardInterrupt: the run was interrupted; ``simulate`` would return a partial report. The errors of
            ``simulate`` are raised too.
    """
    return refuse_interrupted(simulate(*operands, **options))


def load_available(
    name: str, surrogates: bool, is_required: bool, tell: Callable[[str], None]
) -> Workload | None:
    """Load a workload of a study; None for an unavailable workload, which is reported.

    Args:
        name: name of the workload.
        surrogates: whether a surrogate may replace the workload.
        is_required: whether an unavailable workload is an error, because the user named it; else ``tell`` is
            called and the result is None.
        tell: called with a line for the user.

    Raises:
        WorkloadError: the workload is unavailable, and required.
    """
    try:
        return load(name, exact=not surrogates)
    except WorkloadError as error:
        if is_required:
            raise
        tell(f"{name} is left out: {error}")
        return None
