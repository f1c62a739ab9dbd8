"""Parts of every report: the run, its activity, the use of its cycles, its verification.

Two runs with equal inputs, configuration and version give equal documents, apart from ``CIRCUMSTANCES``.
Values are in base units (cycles, seconds, bytes); the configuration states its own units.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, model_validator

from fiberscope.results.report.components import Component, Components
from fiberscope.results.report.cost_parts import Area, Energy, RtlClock
from fiberscope.results.report.levels import Analytical, StorageLevel
from fiberscope.results.report.origin import (
    Environment,
    Host,
    RecordedRequest,
    ReportPart,
    Sampling,
    Source,
    is_empty,
    is_none,
)
from fiberscope.results.report.releases import upgrade
from fiberscope.results.report.schema import Document
from fiberscope.results.report.surrogates import SURROGATE, mark

__all__ = [
    "CIRCUMSTANCES",
    "Area",
    "Cached",
    "Chain",
    "Component",
    "Conversion",
    "Conversions",
    "Energy",
    "Environment",
    "Host",
    "Iteration",
    "Memory",
    "Occupancy",
    "Operand",
    "Problem",
    "Product",
    "Record",
    "RecordedRequest",
    "Sampling",
    "Source",
    "Teaal",
    "TensorTraffic",
    "Timeline",
    "Verification",
    "Workload",
]

SCHEMA: Final = "fiberscope-report-1"
CIRCUMSTANCES: Final = ("source", "environment", "host")  # fields that may differ between equal runs
Ending = Literal["done", "cycle limit", "interrupted", "deadlock"]
Fidelity = Literal["analytical", "trace", "event", "rtl"]


class Operand(ReportPart):
    """An operand: its name, the file or generator of its content, its shape and a notice for readers.

    ``tensor`` is its tensor of a specification, with the ranks of its dimensions: ``A[m, k]``.
    """

    name: str
    source: Literal["real", "surrogate", "generated", "memory"]
    origin: str
    digest: str
    shape: tuple[int, ...]
    nonzeros: int
    notice: str | None = None
    tensor: str = Field(default="", exclude_if=is_empty)

    @property
    def label(self) -> str:
        """Return the displayed name: with a dagger for a surrogate."""
        return mark(self.name, self.source)


class Workload(Operand):
    """The first operand, a different second operand ``b``, and further operands.

    ``b`` is null if there is no second operand, or if it is the first operand, as in A x A.
    """

    b: Operand | None = None
    more: tuple[Operand, ...] = ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Return all operands in order, the first of them this object."""
        return (self, *((self.b,) if self.b else ()), *self.more)

    @property
    def worst_source(self) -> str:
        """Return ``surrogate`` if any operand is a surrogate, else the source of the first operand."""
        return SURROGATE if self.surrogates else self.source

    @property
    def heading(self) -> str:
        """Return the name for headings: with a dagger if any operand is a surrogate."""
        return mark(self.name, self.worst_source)

    @property
    def surrogates(self) -> list[str]:
        """Return the names of the surrogate operands."""
        return [operand.name for operand in self.operands if operand.source == SURROGATE]


class Problem(ReportPart):
    """Kind, parameters and title of the problem on the operands."""

    kind: str
    parameters: dict[str, Any] = {}
    title: str


class Product(ReportPart):
    """Shape and nonzeros of an answer that is a tensor."""

    shape: tuple[int, ...]
    nonzeros: int


class TensorTraffic(ReportPart):
    """Bytes of one tensor between the machine and its memory.

    Useful bytes are the requested elements, pointers and headers, without the rest of their blocks; null for
    a machine that does not distinguish useful bytes.
    """

    read_bytes: int
    write_bytes: int
    useful_read_bytes: int | None = None
    useful_write_bytes: int | None = None

    @property
    def moved_bytes(self) -> int:
        """Return the sum of bytes read and written."""
        return self.read_bytes + self.write_bytes

    @property
    def useful_bytes(self) -> int | None:
        """Return the useful bytes; None if the machine does not record them."""
        if self.useful_read_bytes is None or self.useful_write_bytes is None:
            return None
        return self.useful_read_bytes + self.useful_write_bytes


class Cached(ReportPart):
    """Traffic after a cache, by tensor, from a functional pass without timing.

    ``in_flight`` is the footprint of concurrent tasks as a fraction of the cache. If it exceeds 1, the misses
    of the pass differ from those of the machine.
    """

    traffic: dict[str, TensorTraffic]
    in_flight: float


class Timeline(ReportPart):
    """Activity in each interval of ``interval`` cycles of the first clock; the last interval may be shorter.

    Bytes count when the memory accepts a request. An interval can therefore exceed the bandwidth by the
    content of the memory's queues. A further key named after the machine's operation (``multiply``) has the
    number of operations.
    """

    # the name of the key is known only to the machine
    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, list[int]]

    interval: int
    read_bytes: list[int]
    write_bytes: list[int]

    @property
    def work(self) -> tuple[str, list[int]]:
        """Return the operation and its counts, from the further key, which every timeline must have."""
        return next(iter(self.__pydantic_extra__.items()))


class Iteration(ReportPart):
    """An iteration of a graph algorithm: the active vertices (``frontier``) and their ``updates``.

    The iteration lasts from cycle ``began`` to ``ended``. Edges are processed until ``applied``, then
    vertices are updated.
    """

    frontier: int
    updates: int
    began: int
    applied: int
    ended: int


class Occupancy(ReportPart):
    """Occupancy of the channels of a family: cycles over all channels, by the number of tokens.

    Channels are sampled at least at the end of each interval of the timeline; ``capacity`` is the largest
    capacity.
    """

    channels: int
    capacity: int
    cycles: dict[int, int]


class Memory(ReportPart):
    """Use of the memory: accesses by the state of the bank, and bandwidth.

    An access to the open row is a hit, to a bank without an open row a miss, to another row a conflict.
    ``bytes_per_second`` is the mean over the run; ``utilization`` is this mean over the peak.
    """

    row_hits: int
    row_misses: int
    row_conflicts: int
    bytes_per_second: float
    peak_bytes_per_second: int
    utilization: float
    counters: dict[str, int] = {}


class Verification(ReportPart):
    """The comparison with the reference; ``passed`` is null if nothing was compared, as in an incomplete run.

    ``max_relative_error`` is relative to |A| |B| entry by entry; null if a value is not finite. ``overflows``
    counts infinite or undefined values caused by sums that exceed their type. ``zeros`` counts explicit zeros
    on one side only if values alone were compared; else absent.
    """

    reference: str
    passed: bool | None
    max_relative_error: float | None = None
    tolerance: float
    missing: int = 0
    extra: int = 0
    overflows: int = 0
    zeros: int | None = Field(default=None, exclude_if=is_none)


class Teaal(ReportPart):
    """Counts of the trace model by Einsum and component; traffic in bits, times in seconds.

    ``metrics`` has for each Einsum its components with their counts and ``time``, then ``blocks``, the fused
    Einsums, and the total ``time``. ``bodies`` counts the executions of each loop body and ``elements`` the
    output elements of each Einsum, both over all rounds; ``rounds`` counts the executions of the cascade.
    ``zero_sums`` counts partial sums of 0; an addition to such a sum is not counted. ``energy`` is in pJ by
    tensor moved and by Einsum, with the name of its table.
    """

    semantics: str
    expressions: tuple[str, ...]
    rounds: int = 1
    bodies: dict[str, dict[str, int]] = {}
    elements: dict[str, int] = {}
    zero_sums: int = Field(default=0, exclude_if=is_empty)
    metrics: dict[str, Any]
    energy: dict[str, Any] = {}

    @property
    def by_einsum(self) -> dict[str, dict[str, Any]]:
        """Return the components of each Einsum with their counts, without the entries of all Einsums."""
        return {name: metrics for name, metrics in self.metrics.items() if isinstance(metrics, dict)}

    @property
    def bounds_time(self) -> bool:
        """Return whether any Einsum binds a component that takes time."""
        return any(self.by_einsum.values())


class Conversion(ReportPart):
    """Conversion of an operand: its formats, MINT's cycles, and bytes of memory.

    ``waits_for`` are the blocks that the converter shares with the machine, so that the two cannot work
    concurrently.
    """

    source: str
    target: str
    cycles: int
    seconds: float
    read_bytes: int
    write_bytes: int
    waits_for: tuple[str, ...] = ()

    @property
    def moved_bytes(self) -> int:
        """Return the sum of bytes read and written."""
        return self.read_bytes + self.write_bytes


class Conversions(ReportPart):
    """The converted operands by name, and time and traffic with and without the conversions."""

    operands: dict[str, Conversion]
    seconds: float
    seconds_without: float
    traffic_bytes: int
    traffic_bytes_without: int


class Chain(ReportPart):
    """A chain of products: the report of each product by its name, and the conversions between products.

    ``operands`` names the operands of the report, in order. ``written`` are the products that were converted
    after writing, by name. ``seconds`` and ``traffic_bytes`` are totals including conversions.
    """

    text: str
    operands: tuple[str, ...]
    steps: dict[str, Record]
    written: dict[str, Conversion] = {}
    seconds: float
    traffic_bytes: int


class Record(ReportPart, Document):
    """Report of one run of one machine on one problem; values unknown to a fidelity are null or empty.

    Args:
        fidelity: the kind of model that ran.
        version: the version of Fiberscope that ran.
        parts: the origin of the user's components, by the part that they replace.
        complete: whether the run reached its end; ``sampled`` for an estimate from windows.
        config, config_digest: all parameters of the machine, in sections, and their digest.
        chosen: parameters that the machine chose for its operands, each with the reason.
        cycles: the length of the run, in cycles of the first clock of a machine with several clocks.
        cycles_interval: the ends of the 95 % interval of estimated cycles; null for an exact count.
        seconds: the simulated time.
        operations: the number of operations by name, such as ``multiply``.
        traffic, traffic_minimum_bytes: the bytes of each tensor, and the algorithmic minimum of their sum.
        unmoved: tensors that are bound to memory but were not moved, with the reason.
        bottleneck: a sentence on what limits the run.
        components: cycles and counters by instance name.
        stages: the cycles of each stage by name, in the order of the run.
        occupancies: the occupancy of channels by family, only if it was asked for.
        area_um2: the area; null unless the areas of all listed parts are known, see ``area``.
        edp: the product of energy and delay, in J s.
        levels: the storage of the analytical model, by level.
    """

    called = "report"
    indentation = 2
    _upgrade = model_validator(mode="before")(upgrade)

    schema_name: Literal["fiberscope-report-1"] = Field(
        default=SCHEMA, validation_alias="schema", serialization_alias="schema"
    )
    fidelity: Fidelity = "event"
    version: str
    accelerator: str
    parts: dict[str, str] = {}
    complete: bool | Literal["sampled"]
    ending: Ending
    workload: Workload
    problem: Problem | None = None
    formats: dict[str, str] = Field(default={}, exclude_if=is_empty)
    config: dict[str, Any]
    chosen: tuple[str, ...] = ()
    config_digest: str
    cycles: int
    cycles_interval: tuple[int, int] | None = Field(default=None, exclude_if=is_none)
    seconds: float
    operations: dict[str, int]
    traffic: dict[str, TensorTraffic]
    traffic_minimum_bytes: int | None
    cached: Cached | None = Field(default=None, exclude_if=is_none)
    unmoved: dict[str, str] = Field(default={}, exclude_if=is_empty)
    memory: Memory | None
    product: Product | None
    verification: Verification
    bottleneck: str
    components: Components = Components()
    timeline: Timeline | None = None
    stages: dict[str, int] = Field(default={}, exclude_if=is_empty)
    iterations: tuple[Iteration, ...] = ()
    occupancies: dict[str, Occupancy] = {}
    teaal: Teaal | None = None
    energy: Energy | None = None
    area_um2: float | None = None
    area: Area | None = None
    rtl_clock: RtlClock | None = Field(default=None, exclude_if=is_none)
    edp: float | None = None
    conversions: Conversions | None = None
    chain: Chain | None = None
    levels: dict[str, StorageLevel] = {}
    analytical: Analytical | None = None
    sampling: Sampling | None = Field(default=None, exclude_if=is_none)
    source: Source | None = None
    environment: Environment | None = None
    host: Host
