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
from fiberscope.sim.names import family_name, family_or_parent
from fiberscope.workloads import Problem, Spgemm
from fiberscope.workloads.errors import suggest

EVENT = "event"  # the fidelity of components in a kernel, which every machine has

AnyConfiguration = TypeVar("AnyConfiguration", bound=Configuration)


@dataclass(frozen=True)
class Traffic:
    """Bytes of one tensor that moved between the machine and its memory.

    Args:
        read_bytes, write_bytes: bytes that were moved.
        useful_read_bytes, useful_write_bytes: bytes of these that the machine used, for example the elements
            that it needed of whole lines. None if the machine does not count them.
    """

    read_bytes: int
    write_bytes: int
    useful_read_bytes: int | None = None
    useful_write_bytes: int | None = None


@dataclass(frozen=True)
class CachedTraffic:
    """Traffic behind a cache, from a functional pass.

    Args:
        traffic: traffic by tensor.
        in_flight: lines that the tasks in flight need at the same time, as a fraction of the cache. If the
            fraction is near 1, the misses of the functional pass differ from the misses of the machine.
    """

    traffic: Mapping[str, Traffic]
    in_flight: float


@dataclass(frozen=True)
class MemoryUse:
    """Use of the memory by a run, over all channels.

    Args:
        row_hits: accesses to the open row of a bank.
        row_misses: accesses to a bank without an open row.
        row_conflicts: accesses to a bank with another open row.
        peak_bytes_per_second: peak bandwidth.
        counters: further events by name, such as refreshes and turnarounds.
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
        frontier: number of vertices that were active in the iteration.
        updates: number of distinct vertices that the active vertices reached.
        began: cycle in which the iteration began.
        applied: cycle in which the last edges had been processed; after it, the machine only applies updates
            to vertices.
        ended: cycle in which the iteration ended.
    """

    frontier: int
    updates: int
    began: int
    applied: int
    ended: int


class Model(Protocol):
    """A machine with its problem loaded, at one fidelity; counts that the fidelity lacks are absent."""

    @property
    def parameters(self) -> Configuration:
        """Return the parameters, including those that the machine chose itself."""

    def result(self) -> object:
        """Return the answer that the machine wrote; None if it computes none. A product has the rows of A."""

    def operations(self) -> Mapping[str, int]:
        """Return the numbers of operations by name: ``multiply``, ``add``, ``merge``, ..."""

    def traffic(self) -> Mapping[str, Traffic]:
        """Return the traffic with memory by tensor: ``A``, ``B``, ``Z``, and tensors of the machine's own."""

    def traffic_minimum_bytes(self) -> int:
        """Return the least traffic in this data format: each operand and the product once."""

    def memory(self) -> MemoryUse | None:
        """Return the use of the memory; None if it is not known."""


class Machine(Model, Protocol):
    """A model of the fidelity ``event``: components in a kernel. Counts are up to the present cycle.

    ``result`` is called only after a complete run.
    """

    @property
    def kernel(self) -> Kernel:
        """Return the kernel that runs the machine; reports count cycles of its first clock."""

    @property
    def work(self) -> str:
        """Return the name of the operation that the timeline of a report counts over time."""

    def progress(self) -> tuple[int, int]:
        """Return the work done and the work in total, in a unit of the machine's choice."""


class Estimate(Model, Protocol):
    """A model of any other fidelity: it does not run, and returns the length of the run itself."""

    @property
    def cycles(self) -> int:
        """Return the length of the run in cycles."""

    @property
    def seconds(self) -> float:
        """Return the length of the run in seconds of simulated time."""


@dataclass(frozen=True)
class TileRoom:
    """Constraints on the tiles that are chosen for the operands of a machine.

    Args:
        kernel: the expression, with its operands in the order of ``Problem.machine_inputs()``.
        order: order of the loops over tiles.
        tiling: method that chooses the tiles.
        microtile: side of a microtile in coordinates; each side of a tile is a multiple of it.
        words: capacity for a tile of each operand, in words.
    """

    kernel: str
    order: str
    tiling: str
    microtile: int
    words: int


@dataclass(frozen=True)
class Accelerator(Generic[AnyConfiguration]):
    """Descriptor of an accelerator: its name, its parameters, its models, and what reports and commands need.

    Some fields are functions of a model, of the parameters, or of ``Problem.machine_inputs()``: the operands
    as a machine takes them, which for ``Spgemm`` are A and B in canonical CSR of doubles. A family is the
    name of components without the machine and without numbers: ``pe.merger`` for ``gamma.pe00.merger``.

    Args:
        name: name in ``make sim ACC=name``, and of the folder.
        summary: description in one line, for ``fiberscope list``.
        configuration: pydantic model of ``config.yaml``.
        folder: folder of ``config.yaml``.
        defaults: files of further parameters; keys that the configuration does not have are ignored.
        preset: values of parameters by dotted key, which take precedence over ``config.yaml`` and
            ``defaults``, but not over a user's file or settings.
        models: constructors of models by fidelity, called with the parameters and the machine inputs.
            ``event`` returns a ``Machine``, any other fidelity an ``Estimate``.
        workers: family of the components that do the main work; their busy cycles say how busy the machine
            is.
        stages: for a machine with several stages of work, the workers of each stage.
        limits: further families whose components do one operation per cycle, such as cache banks. Such a
            component limits the machine if it is always busy. A crossbar with many ports does not.
        channels: family of the memory channels; empty for a machine without memory.
        parts: factories of the blocks that a user may replace, by name.
        own: factories of the user's blocks that the description of the machine names, by part.
        solves: kinds of problems; the first kind is the default of ``problem.kind``.
        chosen: returns the parameters that a model chose for its operands, each with the reason, as texts.
        explained: returns a sentence about lost cycles of a model that has run. The report appends it to the
            bottleneck if no part is near its peak.
        symbols: called with the parameters and the machine inputs; returns the values of symbols without a
            value in ``spec.yaml``, and notes about them.
        tile_room: returns the tiles to choose for the operands with these parameters; None for no choice.
        tiled: returns the parameters with tiles of a shape, which is given in microtiles by index.
        reads: format of each operand in memory, for operands that a converter may convert to this format.
        iterations: returns the finished iterations of a model that has run.
        costs: file with the costs of actions and parts; None for ``costs.yaml`` in ``folder``.
        sampler: constructor of a ``Sampler``, called with the parameters, the machine inputs, a ``Sample``
            and a progress callback; None for a machine that cannot be sampled.
        unsampled: why the machine cannot be sampled, for the message; empty if no reason is known.
        cached: called with the parameters and the machine inputs; counts the traffic behind the cache without
            simulating time. None for a machine without such a count.
        unmoved: called with a model that has run; returns the tensors that its description binds to memory
            and that did not move, each with the reason.
        stage_begins: returns the cycle in which each stage of a model that has run began, by name; empty for
            a machine without stages, or if stages run side by side.
        chip_parts: returns the parts of a model that have area, clock and leakage: by name, their number and
            the price of one. None if the parts are the components of the model.
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
    unsampled: str = ""
    cached: Callable[..., CachedTraffic] | None = None
    unmoved: Callable[[Any], Mapping[str, str]] = lambda _model: {}
    stage_begins: Callable[[Any], Mapping[str, int]] = lambda _model: {}
    chip_parts: Callable[[Any], Mapping[str, tuple[int, Any]]] | None = None

    @property
    def costs_file(self) -> Path:
        """Return the file of costs of its actions and parts; it need not exist."""
        return self.costs or self.folder / "costs.yaml"

    @property
    def worker_families(self) -> tuple[str, ...]:
        """Return the families of components that do the work: one for each stage, or the workers."""
        return self.stages or (self.workers,)

    @property
    def shipped(self) -> Path:
        """Return the file with the default, unit and source of every parameter."""
        return self.folder / "config.yaml"

    def merge_parts(
        self, parts: Mapping[str, Callable[..., Component]] | None
    ) -> dict[str, Callable[..., Component]]:
        """Return the replaced parts of a run: those in ``own``, overridden by the given parts.

        Args:
            parts: factories by name that the user gave for this run, or None.
        """
        return {**self.own, **(parts or {})}

    def check_families(self, machine: Machine) -> None:
        """Check that the machine has components of the families of workers, limits and channels.

        The channels are checked only for a machine with memory.

        Raises:
            ConfigurationError: if a family has no components; the message names the family.
        """
        present = {family_name(component.name) for component in machine.kernel.components}
        channels = [] if machine.memory() is None else [self.channels]
        named = {"workers": self.worker_families, "limits": self.limits, "channels": channels}
        for field_name, families in named.items():
            for family in families:
                # A component of the parent family may replace its units, such as an element in RTL. An empty
                # name stands for no family.
                if family and family_or_parent(family, present) not in present:
                    raise ConfigurationError(
                        f"{self.name}: no component is of the kind {family}, which {field_name} names; "
                        f"{suggest(family, present)}"
                    )
