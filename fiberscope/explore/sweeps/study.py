"""A study: what is swept over, from a YAML file, a command line or Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.quantities import Bytes
from fiberscope.accelerators.sampling import Sample as Windows
from fiberscope.accelerators.yaml_document import Document, read_document
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.accelerators.yaml_schema import validate_document
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.evaluation import Evaluation
from fiberscope.explore.sweeps.machines import (
    MachineText,
    NamedMachine,
    PartNames,
    check_names,
    parse_machine,
)
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.space import RandomPoints, combine_points

__all__ = ["Study", "StudyKeys", "make_study", "read_study"]

_Path: TypeAlias = tuple[str | int, ...]  # of a value in a file


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
    parts: Mapping[str, object]
    config: str
    exact: bool
    grid: Mapping[str, Sequence[object]]
    points: Sequence[Mapping[str, object]]
    random: Mapping[str, object]
    sample: Mapping[str, object] | Windows | float | str | bool
    timeout: float
    memory: int | str


class Study(BaseModel):
    """The file's keys; machines, workloads, grid, list and random points are combined, each with each.

    Args:
        command: whose runs they are.
        accelerator: one, or several, each as ``parse_machine`` takes its text.
        machines: machines with names, settings and parts of their own.
        workloads: of each run one, A or ``A B`` or ``NAME=TENSOR ...``; none for what has its own. A mapping
            gives them names, which tables show.
        settings: the settings of all runs.
        parts: components of the user in all runs, ``module:Class`` or ``file.py:Class`` by the part's name.
        config: a YAML file of parameters below them.
        exact: refuse surrogates.
        grid: values by parameter.
        points: settings of single points.
        random: drawn points.
        sample: estimate the cycles of each run from windows: true, a half-width as ``1%``, or the fields
            of a ``fiberscope.Sample``.
        timeout: seconds that a point may take.
        memory: bytes that a point may take beside those of the program.
        store: the folder for the results, or an address as ``s3://bucket/study``.
        evaluation: what ``fiberscope suite`` makes of the runs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = "sim"
    accelerator: str | list[str] = Field(default_factory=list)
    machines: list[MachineText] = []
    workloads: str | list[str | dict[str, str]] | dict[str, str] = Field(default_factory=list)
    settings: dict[str, Any] = {}
    parts: PartNames = {}
    config: str | None = None
    exact: bool = False
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    points: list[dict[str, Any]] = []
    random: RandomPoints | None = None
    sample: Annotated[Windows | None, BeforeValidator(_windows)] = None
    timeout: float | None = Field(default=None, gt=0, le=1_000_000)
    memory: Bytes | None = None
    store: str | None = None
    evaluation: Evaluation | None = None
    _places: KeyPositions = PrivateAttr(default_factory=KeyPositions)

    def place(self, key: str) -> str:
        """Return file, line and column of a key; empty without a file."""
        return self._places.place(key)

    def sweep(self) -> Iterator[Point]:
        """The points."""
        sample = None if self.sample is None else asdict(self.sample)
        machines = self.named_machines()
        whole = {key: self._places.place(key) for key in ("command", "config", "sample")}
        crossed = list(combine_points(self._grid(), self._lists()))
        for (machine, at), (workload, name, where) in itertools.product(machines, self._placed_workloads()):
            settings = {**self._entries(self.settings, "settings"), **self._own_settings(machine, at)}
            for entries in crossed:
                self._check_own(machine, entries)
                entries_by_key = {**settings, **entries}
                places = {**whole, "accelerator": self._places.place(*at), "workload": where}
                places |= {key: entry.origin for key, entry in entries_by_key.items()}
                yield Point(
                    self.command,
                    machine.accelerator,
                    workload,
                    {key: entry.value for key, entry in entries_by_key.items()},
                    self.config,
                    self.exact,
                    sample,
                    places,
                    machine.own_name,
                    {**self.parts, **machine.parts},
                    name,
                )

    def named_machines(self) -> list[tuple[NamedMachine, _Path]]:
        """The machines, each with its path in the file.

        Raises:
            ConfigurationError, InputError: there is none, two have one name, or there are two lists of them.
        """
        texts = [self.accelerator] if isinstance(self.accelerator, str) else self.accelerator
        if texts and self.machines:
            at = self._places.place("machines") or "settings"
            raise InputError(f"{at}: machines and accelerator are both there; leave one out")
        paths: list[_Path] = [("accelerator", at) for at in range(len(texts))]
        if isinstance(self.accelerator, str):
            paths = [("accelerator",)]
        paths += [("machines", at) for at in range(len(self.machines))]
        machines = [*map(self._parsed, texts, paths), *self.machines]
        if not machines:
            what = "an empty list; name one or more" if "accelerator" in self.model_fields_set else "missing"
            place = [self._places.place("accelerator")]
            raise ConfigurationError(": ".join([*filter(None, place), f"accelerator is {what}"]))
        check_names(machines, lambda at: self._places.place(*paths[at]))
        return list(zip(machines, paths, strict=True))

    def _parsed(self, text: str, path: _Path) -> NamedMachine:
        try:
            return parse_machine(text)
        except InputError as error:
            raise InputError(": ".join(filter(None, (self._places.place(*path), str(error))))) from error

    def _own_settings(self, machine: NamedMachine, path: _Path) -> dict[str, Entry]:
        """The settings of a machine, with their places in the file or the name of the machine."""
        return {
            key: Entry(value, self._places.place(*path, "set", key) or machine.name)
            for key, value in machine.set.items()
        }

    def _check_own(self, machine: NamedMachine, entries: Mapping[str, Entry]) -> None:
        """Refuse a parameter that is swept over, and that a machine has its own value of.

        Raises:
            InputError: naming it.
        """
        for key in machine.set.keys() & entries.keys():
            where = [entries[key].origin] if entries[key].origin else []
            message = f"{key} is swept over, and {machine.name} sets it; leave one out"
            raise InputError(": ".join([*where, message]))

    def named_workloads(self) -> dict[str, str]:
        """The workloads, each with its own name, which is empty for those without one.

        Raises:
            InputError: two workloads have one name, or one has two.
        """
        return {workload: name for workload, name, _ in self._placed_workloads() if workload}

    def _placed_workloads(self) -> list[tuple[str, str, str]]:
        """The workloads, each with its name and place.

        Raises:
            InputError: as of ``named_workloads``.
        """
        listed = [self.workloads] if isinstance(self.workloads, str | dict) else self.workloads
        paths: list[_Path] = [("workloads", at) for at in range(len(listed))]
        if listed is not self.workloads:
            paths = [("workloads",)]
        placed = [
            (text, name, self._places.place(*path, *filter(None, [name])))
            for each, path in zip(listed, paths, strict=True)
            for name, text in ({"": each} if isinstance(each, str) else each).items()
        ]
        _check_workload_names(placed)
        return placed or [("", "", "")]

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
            [self._entries(point, "random", "over") for point in self.random.points()] if self.random else []
        )
        return [points_ for points_ in (points, drawn) if points_]


def _check_workload_names(placed: Sequence[tuple[str, str, str]]) -> None:
    """Refuse a name that two workloads have, and a workload that has two names.

    Args:
        placed: workloads, names and places.

    Raises:
        InputError: naming them.
    """
    names: dict[str, str] = {}
    for text, name, place in placed:
        fault = ""
        if name and names.setdefault(text, name) != name:
            fault = f"{text} is called {names[text]} and {name}; give it one name"
        elif name and any(other == name for workload, other in names.items() if workload != text):
            fault = f"two workloads are called {name}; give each its own name"
        if fault:
            raise InputError(": ".join([*filter(None, [place]), fault]))


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
    if instead and "machines" in instead:
        own.pop("accelerator", None)
    study = make_study({**own, **(instead or {})})
    study._places = KeyPositions(document, frozenset(instead or ()))
    study.named_machines()  # report their errors now, and those of workloads
    study.named_workloads()
    return study


def make_study(document: Mapping[str, Any]) -> Study:
    """The study of arguments.

    Raises:
        InputError: one that cannot be.
    """
    try:
        return Study.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "it should be", 1)
        raise InputError(f"{key} is {fault['input']!r}; {message}") from error
