"""A study: what is swept over, from a YAML file, a command line or Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from accelerators.quantities import Bytes
from accelerators.yaml_layer import compose, read_text, refusing
from fiberscope.errors import InputError
from fiberscope.sweeps.point import Point
from fiberscope.sweeps.space import Sample, combined
from fiberscope.teaal.document import Document
from fiberscope.teaal.schema import checked

__all__ = ["Study", "read_study", "study_of"]


class Study(BaseModel):
    """The file's keys; machines, workloads, grid, list and sample are combined, each with each.

    Args:
        command: whose runs they are.
        accelerator: one, or several.
        workloads: of each run one, A or ``A B`` or ``NAME=TENSOR ...``; none for what has its own.
        settings: of all runs.
        config: a YAML file of parameters below them.
        exact: refuse surrogates.
        grid: values by parameter.
        points: settings of single points.
        sample: drawn points.
        timeout: seconds that a point may take.
        memory: bytes that a point may take beside those of the program.
        store: the folder for the results.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = "sim"
    accelerator: str | list[str]
    workloads: str | list[str] = Field(default_factory=list)
    settings: dict[str, Any] = {}
    config: str | None = None
    exact: bool = False
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    points: list[dict[str, Any]] = []
    sample: Sample | None = None
    timeout: float | None = Field(default=None, gt=0, le=1_000_000)
    memory: Bytes | None = None
    store: str | None = None

    def sweep(self) -> Iterator[Point]:
        """The points."""
        lists = [self.points] if self.points else []
        lists += [list(self.sample.points())] if self.sample else []
        machines = _several(self.accelerator)
        if not machines:
            raise InputError("accelerator is an empty list; name one or more")
        for machine, workload in itertools.product(machines, _several(self.workloads) or [""]):
            for settings in combined(self.grid, lists):
                given = {**self.settings, **settings}
                yield Point(self.command, machine, workload, given, self.config, self.exact)


def _several(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def read_study(path: Path) -> Study:
    """The study of a file.

    Raises:
        ConfigurationError: it cannot be read, or is not as it should be; with line and column.
    """
    text = read_text(path, str(path))
    with refusing(str(path)):
        document = Document.of(compose(text), str(path), lambda text, _complain: text)
    return checked(Study, document)


def study_of(given: Mapping[str, Any]) -> Study:
    """The study of arguments.

    Raises:
        InputError: one that cannot be.
    """
    try:
        return Study.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "it should be", 1)
        raise InputError(f"{key} is {fault['input']!r}; {message}") from error
