"""A study: what is swept over, from a YAML file, a command line or Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from fiberscope.accelerators.quantities import Bytes
from fiberscope.accelerators.sampling import Sample as Windows
from fiberscope.accelerators.yaml_document import Document, read_document
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.accelerators.yaml_schema import validate_document
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.space import Sample, combine_points

__all__ = ["Study", "StudyKeys", "make_study", "read_study"]


class KeyPositions(NamedTuple):
    """Positions of the keys in a file; none without a file.

    Args:
        document: the document of the file.
        elsewhere: keys that something else says.
    """

    document: Document | None = None
    elsewhere: frozenset[str] = frozenset()

    def place(self, *path: str | int) -> str:
        """File, line and column of a value."""
        if self.document is None or path[0] in self.elsewhere:
            return ""
        return self.document.place(path)


def _windows(value: object) -> Windows | None:
    from fiberscope.run.sampled import requested_sample  # noqa: PLC0415  (few studies are of sampled runs)

    try:
        return requested_sample(value)
    except InputError as error:
        raise ValueError(str(error)) from error


class StudyKeys(TypedDict, total=False):
    """Keys of a study that ``fiberscope.sweep`` takes by keyword, each as in ``Study``."""

    command: str
    settings: Mapping[str, object]
    config: str
    exact: bool
    grid: Mapping[str, Sequence[object]]
    points: Sequence[Mapping[str, object]]
    sample: Mapping[str, object] | Windows | float | str | bool
    sampling: Mapping[str, object] | Windows | float | str | bool
    timeout: float
    memory: int | str


class Study(BaseModel):
    """The file's keys; machines, workloads, grid, list and sample are combined, each with each.

    Args:
        command: whose runs they are.
        accelerator: one, or several.
        workloads: of each run one, A or ``A B`` or ``NAME=TENSOR ...``; none for what has its own.
        settings: the settings of all runs.
        config: a YAML file of parameters below them.
        exact: refuse surrogates.
        grid: values by parameter.
        points: settings of single points.
        sample: drawn points.
        sampling: estimate the cycles of each run from windows: true, a half-width as ``1%``, or the fields
            of a ``fiberscope.Sample``.
        timeout: seconds that a point may take.
        memory: bytes that a point may take beside those of the program.
        store: the folder for the results, or an address as ``s3://bucket/study``.
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
    sampling: Annotated[Windows | None, BeforeValidator(_windows)] = None
    timeout: float | None = Field(default=None, gt=0, le=1_000_000)
    memory: Bytes | None = None
    store: str | None = None
    _places: KeyPositions = PrivateAttr(default_factory=KeyPositions)

    def sweep(self) -> Iterator[Point]:
        """The points."""
        whole = {key: self._places.place(key) for key in ("command", "config", "sampling")}
        sample = None if self.sampling is None else asdict(self.sampling)
        machines = self._several("accelerator")
        if not machines:
            at = self._places.place("accelerator") or "settings"
            raise InputError(f"{at}: accelerator is an empty list; name one or more")
        crossed = list(combine_points(self._grid(), self._lists()))
        for (machine, at), (workload, where) in itertools.product(machines, self._several("workloads")):
            for entries in crossed:
                entries_by_key = {**self._entries(self.settings, "settings"), **entries}
                origins = {key: entry.origin for key, entry in entries_by_key.items()}
                places = {**whole, "accelerator": at, "workload": where, **origins}
                settings = {key: entry.value for key, entry in entries_by_key.items()}
                yield Point(
                    self.command, machine, workload, settings, self.config, self.exact, sample, places
                )

    def _several(self, key: str) -> list[tuple[str, str]]:
        """Machines or workloads, each with its place."""
        value = getattr(self, key)
        if isinstance(value, str):
            return [(value, self._places.place(key))]
        named = [(name, self._places.place(key, position)) for position, name in enumerate(value)]
        return named or ([("", "")] if key == "workloads" else [])

    def _entries(self, settings: Mapping[str, Any], *path: str | int) -> dict[str, Entry]:
        return {key: Entry(value, self._places.place(*path, key)) for key, value in settings.items()}

    def _grid(self) -> dict[str, list[Entry]]:
        return {
            key: [Entry(value, self._places.place("grid", key, at)) for at, value in enumerate(values)]
            for key, values in self.grid.items()
        }

    def _lists(self) -> list[list[dict[str, Entry]]]:
        points = [self._entries(point, "points", at) for at, point in enumerate(self.points)]
        drawn = (
            [self._entries(point, "sample", "over") for point in self.sample.points()] if self.sample else []
        )
        return [points_ for points_ in (points, drawn) if points_]


def read_study(path: Path, instead: Mapping[str, Any] | None = None) -> Study:
    """The study of a file.

    Args:
        path: the path of the file.
        instead: arguments that take the place of its keys.

    Raises:
        ConfigurationError: it cannot be read, or is not as it should be; with line and column.
        InputError: an argument that cannot be.
    """
    document = read_document(path)
    own = validate_document(Study, document).model_dump(exclude_unset=True, by_alias=True)
    study = make_study({**own, **(instead or {})})
    study._places = KeyPositions(document, frozenset(instead or ()))
    return study


def make_study(document: Mapping[str, Any]) -> Study:
    """The study of arguments.

    A ``sample`` that draws no points is the request for sampled runs, as of ``simulate``.

    Raises:
        InputError: one that cannot be.
    """
    try:
        return Study.model_validate(_with_sampling(document))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "it should be", 1)
        raise InputError(f"{key} is {fault['input']!r}; {message}") from error


def _with_sampling(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys of a study, with a request for sampled runs under its own key."""
    sample = document.get("sample")
    if sample is None or isinstance(sample, Mapping | Sample):
        return document
    return {**document, "sample": None, "sampling": sample}
