"""Parameters of Gamma; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.composition import ElementNetwork
from fiberscope.accelerators.configuration import Bytes, Configuration, integer_field
from fiberscope.accelerators.full_operands import OperandFormat
from fiberscope.accelerators.gamma.layout import Sizes
from fiberscope.accelerators.quantities import SIZE
from fiberscope.accelerators.values import TypedParameters
from fiberscope.hw.fibers.merge import RADIX
from fiberscope.hw.memory.cache_geometry import HASHED, LIMITS, FiberCacheSpecification
from fiberscope.workloads.canonical import CsrArray

MOST_ENTRIES = 1 << 22  # upper bound of simulated entries of one kind; an entry takes some hundred bytes


class ProcessingElements(Configuration):
    """Number, queues and latencies of the processing elements."""

    count: int = Field(ge=1, le=256)
    radix: int = integer_field(RADIX)
    task_queue: int = Field(ge=1, le=1024)
    partial_queue: int = Field(ge=0, le=1024)
    row_reads: int = Field(ge=2, le=1024)
    buffer_lines: int = Field(ge=1, le=1024)
    merge_queue: int = Field(ge=1, le=1024)
    output_queue: int = Field(ge=1, le=1024)
    pipeline_queue: int = Field(ge=1, le=1024)
    finishing: int = Field(ge=1, le=1024)
    # At most one stage for each level of the comparator tree of the largest radix.
    merger_stages: int = Field(ge=1, le=(RADIX[1] - 1).bit_length())
    merger_latency: int = Field(ge=1, le=1000)
    multiplier_latency: int = Field(ge=1, le=1000)
    accumulator_latency: int = Field(ge=1, le=1000)
    prefetch: bool


class FiberCache(Configuration):
    """The FiberCache's geometry and latency."""

    size: Bytes = Field(ge=1)
    banks: int = integer_field(LIMITS["banks"])
    ways: int = integer_field(LIMITS["ways"])
    line: Bytes = integer_field(LIMITS["line_bytes"])
    latency: int = Field(ge=1, le=1000)
    stages: int = integer_field(LIMITS["stages"])
    index: Literal["interleaved", "hashed"]
    misses: int = integer_field(LIMITS["misses"])
    targets: int = integer_field(LIMITS["targets"])
    priority_bits: int = Field(ge=0, le=LIMITS["priority_limit"][1].bit_length())
    reuse_bits: int = Field(ge=1, le=LIMITS["reuse_limit"][1].bit_length())

    @property
    def sets(self) -> int:
        """Number of sets of one bank."""
        return self.size // (self.banks * self.ways * self.line)

    @model_validator(mode="after")
    def _divides(self) -> Self:
        """Check that the size is a whole number of sets, and that lines and hashed sets are powers of two."""
        if self.line & (self.line - 1):
            raise ValueError(f"fibercache.line is {self.line} bytes; it should be a power of two")
        step = self.banks * self.ways * self.line
        if self.size % step:
            below = self.size // step * step
            # A cache smaller than one set of each bank has no smaller size to suggest: ``below`` is 0.
            size_text, *near = (SIZE.short(size) for size in (self.size, below, below + step) if size)
            banks = f"{self.banks} banks of {self.ways} ways of {self.line}-byte lines"
            raise ValueError(
                f"fibercache.size is {size_text}; it should be a multiple of {SIZE.short(step)} ({banks}), "
                f"such as {' or '.join(near)}"
            )
        if self.index == HASHED and self.sets & (self.sets - 1):
            raise ValueError(
                f"fibercache.index is hashed, which needs a power of two of sets, not {self.sets}"
            )
        return self

    def specification(self) -> FiberCacheSpecification:
        """Return the parameters that a bank is built from."""
        return FiberCacheSpecification(
            banks=self.banks,
            sets=self.sets,
            ways=self.ways,
            line_bytes=self.line,
            misses=self.misses,
            targets=self.targets,
            priority_limit=(1 << self.priority_bits) - 1,
            reuse_limit=(1 << self.reuse_bits) - 1,
            stages=self.stages,
            index=self.index,
        )


class SchedulerParameters(Configuration):
    """Buffer, queues and output mode of the scheduler."""

    stream_lines: int = Field(ge=1, le=1 << 20)
    output: Literal["memory", "cache"]
    output_page: Bytes = Field(ge=1)
    task_queue: int = Field(ge=1, le=1024)
    completion_queue: int = Field(ge=1, le=1024)
    page_queue: int = Field(ge=1, le=1024)


class Format(OperandFormat):
    """Bytes of the stored tensors' parts."""

    element: Bytes = Field(ge=1)
    value: Bytes = Field(ge=1)
    pointer: Bytes = Field(ge=0)


class GammaConfiguration(TypedParameters):
    """All parameters of Gamma."""

    # An element has a coordinate of 32 bits beside its value.
    METADATA_BITS: ClassVar = {"element": 32, "value": 0}

    tiling: Literal["none", "selective"]
    tile: Bytes = Field(ge=1)
    reorder: Literal["none", "affinity"]
    pe: ProcessingElements
    fibercache: FiberCache
    network: ElementNetwork
    scheduler: SchedulerParameters
    format: Format

    def _check_state(self) -> None:
        """Reject a machine whose state alone would fill the host's memory."""
        pe, cache = self.pe, self.fibercache
        for keys, size in (
            ("pe.count, radix and buffer_lines", pe.count * pe.radix * pe.buffer_lines),
            ("fibercache.banks, misses and targets", cache.banks * (cache.misses + cache.targets)),
            ("fibercache.size and line", cache.size // cache.line),
        ):
            if size > MOST_ENTRIES:
                raise ValueError(
                    f"{keys} make {size} entries to simulate; at most {MOST_ENTRIES} fit in memory"
                )

    @property
    def sizes(self) -> Sizes:
        """Bytes of lines, elements and pointers."""
        return Sizes(self.fibercache.line, self.format.element, self.format.pointer)

    def operand_sizes(self, operand: str, matrix: CsrArray) -> Sizes:
        """Return the bytes of lines, elements and pointers of operand A or B.

        An operand without zeros is stored as values only if ``format.dense`` names it. An element is then a
        value, and a pointer has 0 bytes.
        """
        dense = self.format.is_stored_dense(operand, matrix)
        return Sizes(self.fibercache.line, self.format.value, 0) if dense else self.sizes

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Check sizes against the line, and that the scheduler can hold the nonzeros of one task."""
        line = self.fibercache.line
        element, value, pointer = self.format.element, self.format.value, self.format.pointer
        for key, size in (("element", element), ("pointer", pointer)):
            if size > line:
                raise ValueError(f"format.{key} is {size} bytes; a line of {line} bytes should hold one")
        if value > element:
            raise ValueError(f"format.value is {value} bytes; it is a part of an element of {element} bytes")
        # The scheduler writes Z's row pointers by lines; no pointer may lie in two lines.
        if pointer and line % pointer:
            raise ValueError(
                f"format.pointer is {pointer} bytes; it should be 0 or divide a {line}-byte line"
            )
        self.memory.check(line)
        # A processing element writes whole lines, none of which may cross the end of its page.
        if self.scheduler.output_page % line:
            raise ValueError(
                f"scheduler.output_page is {self.scheduler.output_page} bytes; it should be a multiple of a "
                f"{line}-byte line"
            )
        self._check_state()
        # The nonzeros of one task must fit, with a line of row pointers and a line more for misalignment.
        needed = -(-self.pe.radix * self.format.element // line) + 2
        if self.scheduler.stream_lines < needed:
            raise ValueError(
                f"scheduler.stream_lines is {self.scheduler.stream_lines}; a task of {self.pe.radix} "
                f"nonzeros needs at least {needed}"
            )
        return self
