"""Interface of every accelerator to the rest of the package.

A folder ``accelerators/<name>/`` has a ``config.yaml`` with every parameter and an ``__init__.py`` with the
machine's descriptor in ``ACCELERATOR``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from fiberscope.accelerators.configuration import Configuration, ConfigurationError
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import family_name, placed
from fiberscope.workloads import Problem, Spgemm
from fiberscope.workloads.errors import nearest

__all__ = [
    "EVENT",
    "Accelerator",
    "CachedTraffic",
    "Estimate",
    "Iteration",
    "Machine",
    "MemoryUse",
    "Model",
    "TileRoom",
    "Traffic",
]

EVENT = "event"  # the fidelity of components in a kernel, which every machine has

AnyConfiguration = TypeVar("AnyConfiguration", bound=Configuration)


@dataclass(frozen=True)
class Traffic:
    """Bytes of one tensor that crossed the pins between the machine and its memory.

    A machine that moves more than it uses, as whole blocks for single elements, may say how many bytes of
    each it uses; None where it does not count them.
    """

    read_bytes: int
    write_bytes: int
    useful_read_bytes: int | None = None
    useful_write_bytes: int | None = None


@dataclass(frozen=True)
class CachedTraffic:
    """Traffic behind a cache, from a functional pass.

    Args:
        traffic: by tensor.
        in_flight: lines that the tasks in flight need at a time, as a fraction of the cache. Where they fill
            the cache, the misses are not those of the machine.
    """

    traffic: Mapping[str, Traffic]
    in_flight: float


@dataclass(frozen=True)
class MemoryUse:
    """Use of the memory: accesses by the state of their row, and the most bytes it can move.

    ``counters`` are further named events (refreshes, turnarounds).
    """

    row_hits: int
    row_misses: int
    row_conflicts: int
    peak_bytes_per_second: int
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Iteration:
    """One iteration of an algorithm on a graph.

    Args:
        frontier: vertices that were active in it.
        updates: distinct vertices that these reached.
        began, applied, ended: cycles in which it began, in which its last edges were processed, so that only
            vertices were left to apply, and in which it ended.
    """

    frontier: int
    updates: int
    began: int
    applied: int
    ended: int


class Model(Protocol):
    """A machine with its problem loaded, in one of the fidelities; what that cannot know is left out."""

    @property
    def parameters(self) -> Configuration:
        """Return the parameters, with those that the machine chose itself."""

    def result(self) -> object:
        """The answer as the machine wrote it (of a product: rows in A's order), None if it computes none."""

    def operations(self) -> Mapping[str, int]:
        """Operations done, by name: ``multiply``, ``add``, ``merge``, ..."""

    def traffic(self) -> Mapping[str, Traffic]:
        """Traffic with the memory, by tensor: ``A``, ``B``, ``Z``, and what else the machine moves."""

    def traffic_minimum_bytes(self) -> int:
        """Bytes that any machine of this data format has to move: operands once, product once."""

    def memory(self) -> MemoryUse | None:
        """Return the use of the memory; None if it is not known."""


class Machine(Model, Protocol):
    """The model of the fidelity ``event``: components in a kernel. Counts are up to its present cycle.

    ``result`` is asked for only after a complete run.
    """

    @property
    def kernel(self) -> Kernel:
        """The kernel that runs it; its first clock is the one a report counts cycles in."""

    @property
    def work(self) -> str:
        """Return the name of the operation that is the machine's work, which a report follows over time."""

    def progress(self) -> tuple[int, int]:
        """Work done, and work in all, in a unit of the machine's own."""


class Estimate(Model, Protocol):
    """A model of any other fidelity: it is right at once, and gives the run's length itself."""

    @property
    def cycles(self) -> int:
        """Length of the run in cycles."""

    @property
    def seconds(self) -> float:
        """The same in simulated time."""


@dataclass(frozen=True)
class TileRoom:
    """The tiles that a machine is to be given, chosen for its operands.

    Args:
        kernel: what is computed, its operands in the order of ``Problem.machine_inputs()``.
        order: the order of the loops over tiles.
        tiling: the method that chooses.
        microtile: coordinates of which each side of a tile is a multiple.
        words: that a tile of each operand may take.
    """

    kernel: str
    order: str
    tiling: str
    microtile: int
    words: int


@dataclass(frozen=True)
class Accelerator(Generic[AnyConfiguration]):
    """The descriptor of an accelerator.

    Args:
        name: as in ``make sim ACC=name``; its folder has the same.
        summary: one line for ``fiberscope list``.
        configuration: the model its ``config.yaml`` is read into.
        folder: where ``config.yaml`` is.
        defaults: files of further parameters that it has.
        preset: values of parameters, by dotted key, that lie over those of the files.
        models: makes a model of the machine for a problem, by fidelity; ``event`` makes a ``Machine``, any
            other an ``Estimate``. Called with the machine's parameters and ``Problem.machine_inputs()`` (of
            ``Spgemm`` A and B, both canonical CSR of doubles).
        workers: the family of components whose cycles decide how busy the machine is, as in ``pe.merger``
            for ``gamma.pe00.merger`` and its likes.
        stages: of a machine with several stages of work, that family of each.
        limits: further families of which each component does one thing a cycle, so that one which is always
            busy limits the machine (a cache bank does; a crossbar with many ports does not).
        channels: the family of the memory's channels, busy while they hold a request; empty if there is none.
            A machine that is built without memory has none.
        parts: the blocks that ``event`` takes others for, by name, as its argument ``parts``.
        own: blocks of a user's own that its description names, as ``parts`` of each run.
        solves: the kinds of problems; the first one unless ``problem.kind`` says otherwise.
        chosen: of a model, what it chose for its operands where the parameters leave it open, and why, in a
            few words each.
        explained: of a model that has run, a sentence on losses that only the machine can tell, which follows
            that on the bottleneck where no part is near its peak.
        symbols: of the parameters and ``Problem.machine_inputs()``, values for symbols to which the machine's
            ``spec.yaml`` gives none, and what is to be told of them, in a few words each.
        tile_room: of the parameters, the tiles to be chosen for the operands before it is built; None if it
            needs none.
        tiled: of the parameters and a shape in microtiles by index, the parameters with these tiles.
        reads: the compression format in which it reads each operand from memory, where a converter can stand
            in front of it.
        iterations: of a model that has run, its iterations that have ended, if its algorithm has such.
        costs: the file that says what its actions and parts cost; that of its folder if not given.
        sampler: makes a ``Sampler``, which estimates a run from windows; called with the parameters,
            ``Problem.machine_inputs()``, a ``Sample`` and progress; None of a machine that cannot be sampled.
        cached: of the parameters and ``Problem.machine_inputs()``, the traffic behind its cache, counted
            without time; None of a machine without such a count.
        unmoved: of a model that has run, names of tensors that its description binds to memory and that are
            not moved, with the reason.
        chip_parts: of a model, the parts that have area, clock and leakage, where they follow from another
            description than its components: by name their number, and the price of one.
    """

    name: str
    summary: str
    configuration: type[AnyConfiguration]
    folder: Path
    models: Mapping[str, Callable[..., Model]]
    workers: str
    stages: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    channels: str = ""
    parts: Mapping[str, Callable[..., Component]] = field(default_factory=dict)
    solves: tuple[type[Problem], ...] = (Spgemm,)
    chosen: Callable[[Any], tuple[str, ...]] = lambda _model: ()
    explained: Callable[[Any], str] = lambda _model: ""
    symbols: Callable[..., tuple[Mapping[str, float], tuple[str, ...]]] = lambda _parameters, *_given: (
        {},
        (),
    )
    tile_room: Callable[[Any], TileRoom | None] = lambda _parameters: None
    tiled: Callable[[Any, Mapping[str, int]], Any] = lambda parameters, _shape: parameters
    reads: Mapping[str, str] = field(default_factory=dict)
    iterations: Callable[[Any], Sequence[Iteration]] = lambda _model: ()
    defaults: tuple[Path, ...] = ()
    preset: Mapping[str, Entry] = field(default_factory=dict)
    own: Mapping[str, Callable[..., Component]] = field(default_factory=dict)
    costs: Path | None = None
    sampler: Callable[..., Any] | None = None
    cached: Callable[..., CachedTraffic] | None = None
    unmoved: Callable[[Any], Mapping[str, str]] = lambda _model: {}
    chip_parts: Callable[[Any], Mapping[str, tuple[int, Any]]] | None = None

    @property
    def costs_file(self) -> Path:
        """Return the file of costs of its actions and parts; it need not exist."""
        return self.costs or self.folder / "costs.yaml"

    @property
    def worker_families(self) -> tuple[str, ...]:
        """The families of components that do the work: those of each stage, or the workers."""
        return self.stages or (self.workers,)

    @property
    def shipped(self) -> Path:
        """The file with every parameter's default, unit and source."""
        return self.folder / "config.yaml"

    def taking(
        self, parts: Mapping[str, Callable[..., Component]] | None
    ) -> dict[str, Callable[..., Component]]:
        """The parts of a run, which lie over those that its description names."""
        return {**self.own, **(parts or {})}

    def check_families(self, machine: Machine) -> None:
        """Refuse a family that no component of the machine belongs to, before a run whose report needs it.

        Raises:
            ConfigurationError: naming it.
        """
        there = {family_name(component.name) for component in machine.kernel.components}
        channels = [] if machine.memory() is None else [self.channels]
        named = {"workers": self.worker_families, "limits": self.limits, "channels": channels}
        for which, families in named.items():
            for family in families:
                if family and placed(family, there) not in there:
                    raise ConfigurationError(
                        f"{self.name}: no component is of the family {family}, which {which} names; "
                        f"{nearest(family, there)}"
                    )
