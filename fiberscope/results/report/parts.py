"""Parts that every report has: what ran, its activity, the use of its cycles, its verification.

Two runs of the same inputs, configuration and version give the same document byte for byte, apart from the
parts that tell of their circumstances. Everything stands in base
units (cycles, seconds, bytes); the configuration names its own.
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
CIRCUMSTANCES: Final = ("source", "environment", "host")  # fields in which two equal runs may differ
Ending = Literal["done", "cycle limit", "interrupted", "deadlock"]
Fidelity = Literal["analytical", "trace", "event", "rtl"]


class Operand(ReportPart):
    """One operand: what it is, the file or generator it is from, and what a reader must know of it.

    ``tensor`` is the tensor of a specification that it is, with the ranks of its dimensions: ``A[m, k]``.
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
        """The name as it is shown: with a dagger if the operand is a surrogate."""
        return mark(self.name, self.source)


class Workload(Operand):
    """The first operand; the second one, ``b``, where it is another; and those of a problem that has more."""

    b: Operand | None = None
    more: tuple[Operand, ...] = ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Return all operands."""
        return (self, *((self.b,) if self.b else ()), *self.more)

    @property
    def worst_source(self) -> str:
        """``surrogate`` if any operand is one; else the source of the first operand."""
        return SURROGATE if self.surrogates else self.source

    @property
    def heading(self) -> str:
        """The name for headings: with a dagger if any operand is a surrogate."""
        return mark(self.name, self.worst_source)

    @property
    def surrogates(self) -> list[str]:
        """The names of the operands that are surrogates."""
        return [operand.name for operand in self.operands if operand.source == SURROGATE]


class Problem(ReportPart):
    """Problem on the operands: its kind, its parameters, and both in a few words."""

    kind: str
    parameters: dict[str, Any] = {}
    title: str


class Product(ReportPart):
    """The answer as the machine wrote it, where it is a tensor."""

    shape: tuple[int, ...]
    nonzeros: int


class TensorTraffic(ReportPart):
    """Bytes of one tensor between the machine and its memory.

    Those that are useful are the elements, pointers and headers that the machine asked for, without what came
    with them in the same block; null where a machine does not tell them from those moved.
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
    """Traffic behind a cache, by tensor, counted by a functional pass without time.

    ``in_flight`` is the lines that the tasks in flight need at a time, as a fraction of the cache. Where they
    fill the cache, the misses of the pass are not those of the machine.
    """

    traffic: dict[str, TensorTraffic]
    in_flight: float


class Timeline(ReportPart):
    """Activity over time: in every ``interval`` cycles of the first clock; the last may be shorter.

    A request's bytes count when the memory takes it, so that an interval may hold more than the pins can move
    in it, by what the memory's queues hold. Besides the bytes there is one more key, named as the operation
    that is the machine's work (``multiply``): how many of them were done.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, list[int]]

    interval: int
    read_bytes: list[int]
    write_bytes: list[int]

    @property
    def work(self) -> tuple[str, list[int]]:
        """The operation and its counts."""
        return next(iter(self.__pydantic_extra__.items()))


class Iteration(ReportPart):
    """One iteration of an algorithm on a graph: vertices that were active, and those that they reached.

    It lasts from cycle ``began`` to ``ended``; from ``applied`` on its edges are processed, and vertices are
    applied.
    """

    frontier: int
    updates: int
    began: int
    applied: int
    ended: int


class Occupancy(ReportPart):
    """Occupancy of the channels of a family: cycles, over all channels, by the tokens in a channel.

    From what they held when looked at, at the end of each interval of the timeline or more often;
    ``capacity`` is the largest of them.
    """

    channels: int
    capacity: int
    cycles: dict[int, int]


class Memory(ReportPart):
    """Use of the memory; ``utilization`` is the bandwidth used over the peak."""

    row_hits: int
    row_misses: int
    row_conflicts: int
    bytes_per_second: float
    peak_bytes_per_second: int
    utilization: float
    counters: dict[str, int] = {}


class Verification(ReportPart):
    """The comparison with the reference. ``passed`` is null where the run did not come to its end.

    ``max_relative_error`` is against |A| |B| entry by entry; null where a value is not finite.
    ``overflows`` counts values that are infinite, or no number, because sums exceed their type.
    ``zeros`` counts explicit zeros that only one side has, where values alone were compared; else absent.
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

    ``metrics`` has for each Einsum its components with their counts and ``time``, then ``blocks``, the
    Einsums that run together, and the ``time`` of all. ``bodies`` has how often the body of each loop ran,
    ``elements`` how many elements each Einsum's output has, both over all rounds, ``rounds`` how often the
    cascade did. ``zero_sums`` is how often a partial sum was 0; an addition to such a sum is not counted.
    ``energy`` is in pJ by tensor moved and by Einsum, with whose table it was counted.
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
        """The components of each Einsum with what they did; what is of all Einsums is left out."""
        return {name: metrics for name, metrics in self.metrics.items() if isinstance(metrics, dict)}

    @property
    def bounds_time(self) -> bool:
        """Return whether any Einsum binds a component that takes time."""
        return any(self.by_einsum.values())


class Conversion(ReportPart):
    """Conversion of an operand: its formats, MINT's cycles, and bytes of memory.

    ``waits_for`` are the blocks that the converter borrows, so that it cannot work while the machine does.
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
    """The operands that were converted before the run, by name, and all of it beside the run without."""

    operands: dict[str, Conversion]
    seconds: float
    seconds_without: float
    traffic_bytes: int
    traffic_bytes_without: int


class Chain(ReportPart):
    """Products one after another: the report of each by what it makes, and what is converted between them.

    ``operands`` names those of the report, in its order;
    ``written`` are the products that were converted when they had been written, by name; ``seconds`` and
    ``traffic_bytes`` are of all, with conversions.
    """

    text: str
    operands: tuple[str, ...]
    steps: dict[str, Record]
    written: dict[str, Conversion] = {}
    seconds: float
    traffic_bytes: int


class Record(ReportPart, Document):
    """One run of one machine on one problem; what the fidelity cannot know is null or empty."""

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
