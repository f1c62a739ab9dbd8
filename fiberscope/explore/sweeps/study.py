"""Studies: the points of a sweep, from a YAML file, a command line or Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.quantities import Bytes
from fiberscope.accelerators.sampling import Sample
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

_Path: TypeAlias = tuple[str | int, ...]  # path of a value in a file


class KeyLocations(NamedTuple):
    """Locations of the keys in a file.

    Args:
        document: the document of the file; None without a file.
        overridden: keys that are overridden outside of the file.
    """

    document: Document | None = None
    overridden: frozenset[str] = frozenset()

    def find_location(self, *path: str | int) -> str:
        """Return file, line and column of a value; empty without a file, or for a value from elsewhere."""
        if self.document is None or path[0] in self.overridden:
            return ""
        return self.document.location(path)


def _parse_sample(value: object) -> Sample | None:
    from fiberscope.run.sampled import parse_requested_sample  # noqa: PLC0415  (needed for sampled runs only)

    try:
        return parse_requested_sample(value)
    except InputError as error:
        raise ValueError(str(error)) from error


class StudyKeys(TypedDict, total=False):
    """Keyword arguments of ``fiberscope.sweep``, with the meaning of the keys in ``Study``."""

    command: str
    settings: Mapping[str, object]
    parts: Mapping[str, object]
    config: str
    exact: bool
    grid: Mapping[str, Sequence[object]]
    points: Sequence[Mapping[str, object]]
    random: Mapping[str, object]
    sample: Mapping[str, object] | Sample | float | str | bool
    timeout: float
    memory: int | str


class Study(BaseModel):
    """Keys of a study file; machines, workloads, grid, points and random points are combined by product.

    Args:
        command: the command of the runs.
        accelerator: one or several machines, as texts for ``parse_machine``.
        machines: machines with names, settings and parts.
        workloads: a workload per run: A, ``A B`` or ``NAME=TENSOR ...``; empty for commands without operands.
            A mapping gives names for tables.
        settings: the settings of all runs.
        parts: user components in all runs, ``module:Class`` or ``file.py:Class`` by the part's name.
        config: a YAML file of parameters that ``settings`` override.
        exact: refuse surrogates.
        grid: values by parameter.
        points: settings of single points.
        random: random points.
        sample: estimate the cycles of each run from windows: true, a half-width as ``1%``, or the fields of a
            ``fiberscope.Sample``.
        timeout: the time limit of a point in seconds.
        memory: the limit of a point's memory in bytes, in addition to the program.
        store: the folder of the results, or an address as ``s3://bucket/study``.
        evaluation: the tables and figures of ``fiberscope suite``.
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
    sample: Annotated[Sample | None, BeforeValidator(_parse_sample)] = None
    timeout: float | None = Field(default=None, gt=0, le=1_000_000)
    memory: Bytes | None = None
    store: str | None = None
    evaluation: Evaluation | None = None
    _locations: KeyLocations = PrivateAttr(default_factory=KeyLocations)

    def location(self, key: str) -> str:
        """Return file, line and column of a key; empty without a file, or for an overridden key."""
        return self._locations.find_location(key)

    def sweep(self) -> Iterator[Point]:
        """Yield the points: machine by machine, then by workload, then by settings.

        Settings of a machine override those of the study. Grid, points and random points override settings of
        the study, but must not contain a parameter that a machine sets.

        Raises:
            ConfigurationError, InputError: the errors of ``list_named_machines`` and of
                ``list_named_workloads``, or a machine sets a parameter that is swept over.
        """
        sample = None if self.sample is None else asdict(self.sample)
        machines = self.list_named_machines()
        # Locations are for error messages only, and are no part of a point's digest
        common_locations = {
            key: self._locations.find_location(key) for key in ("command", "config", "sample")
        }
        # A list, as every machine and workload iterates over it
        combinations = list(combine_points(self._build_grid(), self._build_lists()))
        for (machine, path), (workload, name, location) in itertools.product(
            machines, self._locate_workloads()
        ):
            settings = {
                **self._list_entries(self.settings, "settings"),
                **self._locate_settings(machine, path),
            }
            for entries in combinations:
                self._check_unswept(machine, entries)
                entries_by_key = {**settings, **entries}
                locations = {
                    **common_locations,
                    "accelerator": self._locations.find_location(*path),
                    "workload": location,
                }
                locations |= {key: entry.origin for key, entry in entries_by_key.items()}
                yield Point(
                    self.command,
                    machine.accelerator,
                    workload,
                    {key: entry.value for key, entry in entries_by_key.items()},
                    self.config,
                    self.exact,
                    sample,
                    locations,
                    machine.distinct_name,
                    {**self.parts, **machine.parts},
                    name,
                )

    def list_named_machines(self) -> list[tuple[NamedMachine, _Path]]:
        """Return the machines, each with its path in the file.

        Raises:
            ConfigurationError, InputError: there is no machine, a name is used twice, or there are both
                lists.
        """
        texts = [self.accelerator] if isinstance(self.accelerator, str) else self.accelerator
        if texts and self.machines:
            index = self._locations.find_location("machines") or "settings"
            raise InputError(f"{index}: machines and accelerator are both given; leave one out")
        paths: list[_Path] = [("accelerator", index) for index in range(len(texts))]
        if isinstance(self.accelerator, str):
            paths = [("accelerator",)]
        paths += [("machines", index) for index in range(len(self.machines))]
        machines = [*map(self._parse_machine_at, texts, paths), *self.machines]
        if not machines:
            fault = "an empty list; name one or more" if "accelerator" in self.model_fields_set else "missing"
            location = [self._locations.find_location("accelerator")]
            raise ConfigurationError(": ".join([*filter(None, location), f"accelerator is {fault}"]))
        check_names(machines, lambda index: self._locations.find_location(*paths[index]))
        return list(zip(machines, paths, strict=True))

    def _parse_machine_at(self, text: str, path: _Path) -> NamedMachine:
        try:
            return parse_machine(text)
        except InputError as error:
            raise InputError(
                ": ".join(filter(None, (self._locations.find_location(*path), str(error))))
            ) from error

    def _locate_settings(self, machine: NamedMachine, path: _Path) -> dict[str, Entry]:
        """Return the settings of a machine, with their locations or the name of the machine."""
        return {
            key: Entry(value, self._locations.find_location(*path, "set", key) or machine.name)
            for key, value in machine.set.items()
        }

    def _check_unswept(self, machine: NamedMachine, entries: Mapping[str, Entry]) -> None:
        """Check that no machine sets a parameter of the sweep.

        Raises:
            InputError: a machine sets such a parameter; the message names both.
        """
        for key in machine.set.keys() & entries.keys():
            origins = [entries[key].origin] if entries[key].origin else []
            message = f"{key} is swept over, and {machine.name} sets it; leave one out"
            raise InputError(": ".join([*origins, message]))

    def list_named_workloads(self) -> dict[str, str]:
        """Return the workloads with their names; the name is empty if the study gives none.

        Raises:
            InputError: two workloads have the same name, or a workload has two names.
        """
        return {workload: name for workload, name, _ in self._locate_workloads() if workload}

    def _locate_workloads(self) -> list[tuple[str, str, str]]:
        """Return the workloads, each with its name and its location in the file.

        Without workloads, the result is one workload with empty texts: commands without operands run too.

        Raises:
            InputError: the errors of ``list_named_workloads``.
        """
        listed = [self.workloads] if isinstance(self.workloads, str | dict) else self.workloads
        paths: list[_Path] = [("workloads", index) for index in range(len(listed))]
        if listed is not self.workloads:  # a single text or mapping, which has no index in the file
            paths = [("workloads",)]
        located = [
            (text, name, self._locations.find_location(*path, *filter(None, [name])))
            for entry, path in zip(listed, paths, strict=True)
            for name, text in ({"": entry} if isinstance(entry, str) else entry).items()
        ]
        _check_workload_names(located)
        return located or [("", "", "")]  # a command without operands has one point for each machine

    def _list_entries(self, settings: Mapping[str, Any], *path: str | int) -> dict[str, Entry]:
        return {
            key: Entry(value, self._locations.find_location(*path, key)) for key, value in settings.items()
        }

    def _build_grid(self) -> dict[str, list[Entry]]:
        return {
            key: [
                Entry(value, self._locations.find_location("grid", key, index))
                for index, value in enumerate(values)
            ]
            for key, values in self.grid.items()
        }

    def _build_lists(self) -> list[list[dict[str, Entry]]]:
        points = [self._list_entries(point, "points", index) for index, point in enumerate(self.points)]
        random_points = (
            [self._list_entries(point, "random", "over") for point in self.random.points()]
            if self.random
            else []
        )
        return [listed for listed in (points, random_points) if listed]


def _check_workload_names(workloads: Sequence[tuple[str, str, str]]) -> None:
    """Check that names and workloads correspond one to one.

    Args:
        workloads: text, name and location in the file of each workload.

    Raises:
        InputError: two workloads have the same name, or a workload has two names.
    """
    names: dict[str, str] = {}
    for text, name, location in workloads:
        fault = ""
        # A text without a name may appear several times, also beside a named one
        if name and names.setdefault(text, name) != name:
            fault = f"{text} is called {names[text]} and {name}; give it one name"
        elif name and any(earlier == name for workload, earlier in names.items() if workload != text):
            fault = f"two workloads are called {name}; give each its own name"
        if fault:
            raise InputError(": ".join([*filter(None, [location]), fault]))


def read_study(path: Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read the study of a file.

    Args:
        path: the path of the file.
        overrides: arguments that override keys of the file, each as a whole: a mapping is not merged.

    Raises:
        ConfigurationError: the file cannot be read, is invalid, or names no machine; the message has line and
            column.
        InputError: an argument is invalid, or the names of machines or workloads are.
    """
    document = read_document(path)
    keys = validate_document(Study, document).model_dump(exclude_unset=True, by_alias=True)
    # Machines of the caller replace both kinds of lists, of which a study may have only one
    if overrides and "machines" in overrides:
        keys.pop("accelerator", None)
    study = make_study({**keys, **(overrides or {})})
    study._locations = KeyLocations(document, frozenset(overrides or ()))
    study.list_named_machines()  # raises errors of machines and workloads
    study.list_named_workloads()
    return study


def make_study(document: Mapping[str, Any]) -> Study:
    """Return the study of arguments, which are the keys of ``Study``; names are not checked before ``sweep``.

    Raises:
        InputError: an argument is invalid.
    """
    try:
        return Study.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "it should be", 1)
        raise InputError(f"{key} is {fault['input']!r}; {message}") from error
