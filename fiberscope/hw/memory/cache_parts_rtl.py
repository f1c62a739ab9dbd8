"""Parts of a FiberCache bank as RTL, and the data between its stages."""

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
    """The parts of a bank; what is in its lines may be elsewhere."""

    parameters: BankParameters
    stages: Stages
    tags: Tags
    table: MissTable
    lines: Lines | None
    between: Streams


@dataclass(frozen=True)
class Request:
    """A request: its token, and whether its set was ever written."""

    control: Signal
    coordinate: Signal
    reference: Signal
    known: Signal

    def delay(self, rank: str, stages: Stages) -> Request:
        """The same a stage later."""
        return Request(*(stages.delay(rank, name, getattr(self, name)) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class LookedUp:
    """A request whose set is read, the misses that will bring a line of that, and the ways of these."""

    request: Request
    misses: Sequence[Signal]
    in_flight: Sequence[Signal]


@dataclass(frozen=True)
class Compared:
    """Lookup of a set: the place of the line, the states of all ways, the first free one, and the victim."""

    request: Request
    misses: Sequence[Signal]
    hits: Sequence[Signal]
    states: Sequence[State]
    free: Sequence[Signal]
    candidates: Sequence[Candidate]


@dataclass(frozen=True)
class Operation:
    """Operation of a request: a wire for each property."""

    read: Signal
    waits: Signal  # a read or a consume: for a line, if that is not here
    write: Signal  # of either kind
    unread: Signal
    fetch: Signal
    consume: Signal
    through: Signal


@dataclass(frozen=True)
class Chosen:
    """A request that is to be decided about, and the miss that will bring its line, if any."""

    request: Request
    operation: Operation
    hits: Sequence[Signal]
    states: Sequence[State]
    victim: Victim
    evicts_dirty: Signal
    present: Signal
    brings: Sequence[Signal]


@dataclass(frozen=True)
class Wish:
    """Requested actions, all but ``joins`` if there is space for what they send."""

    joins: Signal  # a line that is in flight
    hits: Signal
    allocates: Signal  # a place for a line to be written
    asks: Signal  # memory for a line
    passes: Signal  # a write on to memory
    writes_back: Signal  # the victim, when it allocates or asks


@dataclass(frozen=True)
class Done:
    """Actions that are taken for the request."""

    hit: Signal
    allocated: Signal
    asked: Signal
    passed: Signal
    placed: Signal  # a line takes the victim's place
