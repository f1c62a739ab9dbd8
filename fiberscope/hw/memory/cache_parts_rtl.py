"""Parts of a FiberCache bank as RTL, and the data between its stages.

The data of a request goes through ``LookedUpRequest``, ``ComparedRequest`` and ``LastStageRequest``. Each is
at the end of a stage, or in the same cycle if the pipeline has fewer stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiberscope.hw.memory.cache_lines_rtl import Lines
from fiberscope.hw.memory.cache_stages_rtl import Stages
from fiberscope.hw.memory.misses_rtl import MissTable
from fiberscope.hw.memory.tags_rtl import State, Tags, Victim
from fiberscope.hw.rtl.kit.smallest import Candidate
from fiberscope.hw.rtl.kit.twin import Signal, Streams

if TYPE_CHECKING:
    from fiberscope.hw.memory.cache_parameters_rtl import BankParameters


@dataclass(frozen=True)
class Bank:
    """The parts of a bank; ``lines`` is None if the module has no data of lines."""

    parameters: BankParameters
    stages: Stages
    tags: Tags
    table: MissTable
    lines: Lines | None
    streams: Streams


@dataclass(frozen=True)
class Request:
    """A request: the fields of its token, and ``known``, whether its set was ever written."""

    control: Signal
    coordinate: Signal
    reference: Signal
    known: Signal

    def delay(self, rank: str, stages: Stages) -> Request:
        """Return the request as it is after a rank, see ``Stages.delay``."""
        return Request(*(stages.delay(rank, name, getattr(self, name)) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class LookedUpRequest:
    """A request whose set is read.

    Args:
        misses: for each miss, whether its line gets a place in the set.
        in_flight: for each way, whether its line is in flight.
    """

    request: Request
    misses: Sequence[Signal]
    in_flight: Sequence[Signal]


@dataclass(frozen=True)
class ComparedRequest:
    """A request whose line is looked up in its set.

    Args:
        misses: see ``LookedUpRequest``.
        hits: for each way, whether it has the line, present or in flight.
        states: states of all ways.
        free: for each way, whether it is the first way without a line.
        candidates: the victim in each group of ways.
    """

    request: Request
    misses: Sequence[Signal]
    hits: Sequence[Signal]
    states: Sequence[State]
    free: Sequence[Signal]
    candidates: Sequence[Candidate]


@dataclass(frozen=True)
class Operation:
    """The decoded operation of a request, with a wire for each property."""

    read: Signal
    waits: Signal  # a read or a consume, which waits for its line if that is not present
    write: Signal  # a write or an unread write
    unread: Signal
    fetch: Signal
    consume: Signal
    through: Signal


@dataclass(frozen=True)
class LastStageRequest:
    """A request in the last stage, which is to be decided.

    Args:
        request, operation: the request and its decoded operation.
        hits, states: see ``ComparedRequest``.
        victim: the way for a new line.
        evicts_dirty: whether a new line would replace a dirty one.
        present: whether a way has the line, present or in flight.
        brings: for each miss, whether it fetches the line.
    """

    request: Request
    operation: Operation
    hits: Sequence[Signal]
    states: Sequence[State]
    victim: Victim
    evicts_dirty: Signal
    present: Signal
    brings: Sequence[Signal]


@dataclass(frozen=True)
class RequiredActions:
    """Actions that the request needs. Each except ``joins`` is done only if there is space for its tokens."""

    joins: Signal  # join the miss of a line in flight
    hits: Signal  # use a present line
    allocates: Signal  # allocate a place for a line that is written
    asks: Signal  # request a line from memory
    passes: Signal  # pass a write on to memory
    writes_back: Signal  # write back the victim, together with ``allocates`` or ``asks``


@dataclass(frozen=True)
class CompletedActions:
    """Actions of ``RequiredActions`` that are done in this cycle."""

    hit: Signal
    allocated: Signal
    asked: Signal
    passed: Signal
    placed: Signal  # a line takes the victim's place
