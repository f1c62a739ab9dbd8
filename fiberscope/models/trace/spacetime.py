"""Space and time stamps of the bodies of a loop nest, and the load balance of instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.models.trace.evaluate import BodyAttachment, Prepared
from fiberscope.models.trace.instances import BodyCounter
from fiberscope.models.trace.recorder import Recorder
from fiberscope.models.trace.specification import Configuration
from fiberscope.results.report.pictures import blank
from fiberscope.workloads.canonical import Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BODIES = 100_000  # recorded bodies of an Einsum; later bodies are left out
PLOT_INCHES = 3.2  # inches a plot
COLOUR = "#0072B2"
MAX_SQUARES = 2000  # points of a plot, above which a point is a pixel


@dataclass(frozen=True)
class Stamps:
    """The bodies of one Einsum, in the order of execution.

    Args:
        einsum: its name.
        places: the place of each body: the number of its position in the ranks in space, from 0 in
            lexicographic order. Only positions at which a body runs have a number. Stamps by coordinate
            (``K.coord``) count iterations, too. Without ranks in space, all bodies are at place 0.
        times: the step of each body: with slip, the number of earlier bodies at its place; otherwise the
            number of its position in the ranks in time, as of ``places``.
        is_truncated: whether bodies were left out.
    """

    einsum: str
    places: Integers
    times: Integers
    is_truncated: bool

    @property
    def busy(self) -> float:
        """Return the number of bodies, divided by the number of places times the number of steps.

        Places and steps without a body do not count, so that a place that is never used does not lower the
        share. Without bodies the result is 0.
        """
        if len(self.places) == 0:
            return 0.0
        return len(self.places) / ((1 + int(self.places.max())) * (1 + int(self.times.max())))


class _IterationRecorder(Recorder):
    """A recorder of the iteration of one loop in which each body of the innermost loop runs.

    The nest calls ``touch`` once for each body; of its arguments, only ``group`` counts.

    Attributes: ``groups``: by body, the number of the loop's iteration, counted over the whole run.
    """

    def __init__(self, evict_level: int) -> None:
        super().__init__(1, 1, evict_level)
        self.groups: list[int] = []

    def touch(  # type: ignore[override]  # the compiled method returns an integer
        self, fiber: int, position: int, write: bool, group: int
    ) -> int:
        """Record a body."""
        if len(self.groups) <= MAX_BODIES:  # one body more than the limit shows that bodies were left out
            self.groups.append(group)
        return 0


@dataclass
class Watcher:
    """An observer of ``run`` that records the bodies of the Einsums with a spacetime mapping.

    Of each Einsum, the first ``MAX_BODIES`` bodies count.
    """

    recordings: list[tuple[Prepared, list[_IterationRecorder]]] = field(default_factory=list)

    def observe(self, prepared: Prepared) -> Sequence[BodyAttachment]:
        """Return a recorder of the bodies for each loop; none without spacetime or loops.

        Each call that returns recorders adds an entry to ``recordings``, one a round of an iterated cascade.
        """
        einsum = prepared.einsum
        if einsum.spacetime is None or not einsum.loop_order:
            return ()
        serials = [_IterationRecorder(prepared.levels[rank]) for rank in einsum.loop_order]
        self.recordings.append((prepared, serials))
        return [BodyAttachment(recorder) for recorder in serials]

    def stamps(self) -> list[Stamps]:
        """Return the recorded stamps, in the order of the calls of ``observe``; call it after the run."""
        return [_build_stamps(prepared, serials) for prepared, serials in self.recordings]


def _build_stamps(prepared: Prepared, serials: Sequence[_IterationRecorder]) -> Stamps:
    """Return the stamps of the recorded bodies of an Einsum that has a spacetime mapping."""
    einsum, spacetime = prepared.einsum, prepared.einsum.spacetime
    assert spacetime is not None
    # All recorders see the same bodies, so the rows have equal length
    groups = np.array([serial.groups[:MAX_BODIES] for serial in serials], np.int64)
    positions = dict(zip(einsum.loop_order, _count_positions(groups), strict=True))
    places = _number_tuples([positions[stamp.rank] for stamp in spacetime.space], groups.shape[1])
    times = _number_tuples([positions[stamp.rank] for stamp in spacetime.time], groups.shape[1])
    if spacetime.slip:  # places do not wait for each other: a body follows the earlier one at its place
        times = _schedule_earliest(places)
    return Stamps(einsum.name, places, times, len(serials[0].groups) > MAX_BODIES)


def _count_positions(groups: Integers) -> list[Integers]:
    """Return the position of each body in each loop: iterations since the enclosing iteration began.

    Args:
        groups: by loop, outermost first, and body: the number of the loop's iteration, which never decreases.
    """
    positions, is_first = [], np.zeros(groups.shape[1], bool)
    for iterations in groups:
        if groups.shape[1]:
            is_first[0] = True
        # ``is_first`` marks the first body of each enclosing iteration; its number holds until the next mark
        firsts = np.where(is_first, iterations, 0)
        positions.append(iterations - np.maximum.accumulate(firsts))
        is_first = is_first | np.concatenate([[True], np.diff(iterations) != 0])[: groups.shape[1]]
    return positions


def _number_tuples(columns: Sequence[Integers], count: int) -> Integers:
    """Return the number of each tuple among the distinct tuples in lexicographic order, from 0.

    Args:
        columns: the components of the tuples, the most significant first; without columns all numbers are 0.
        count: number of tuples.
    """
    if not columns or count == 0:
        return np.zeros(count, np.int64)
    _unique, ordinals = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.asarray(ordinals, np.int64).reshape(-1)


def _schedule_earliest(ordinals: Integers) -> Integers:
    """Return for each body the number of earlier bodies at the same place, whose numbers are ``ordinals``."""
    order = np.argsort(ordinals, kind="stable")
    ordered = ordinals[order]
    firsts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(ordered))])
    lengths = np.diff([*firsts, len(ordered)])
    times = np.empty(len(ordinals), np.int64)
    times[order] = np.arange(len(ordered)) - np.repeat(firsts, lengths)
    return times


def draw_stamps(stamps: Sequence[Stamps], title: str) -> Figure:
    """Draw a point for each body, its place on the y axis and its step on the x axis, a plot an Einsum.

    Args:
        stamps: the bodies of each Einsum; at least one entry.
        title: title of the figure.

    Raises:
        InputError: matplotlib is missing.
    """
    figure = blank(title, PLOT_INCHES * len(stamps) + 0.5)
    for axes, bodies in zip(figure.subplots(len(stamps), squeeze=False)[:, 0], stamps, strict=True):
        marker = "," if len(bodies.places) > MAX_SQUARES else "s"
        axes.plot(bodies.times, bodies.places, marker, markersize=3, color=COLOUR)
        first = f", the first {MAX_BODIES:,} bodies" if bodies.is_truncated else ""
        axes.set_title(f"{bodies.einsum}: a body in {bodies.busy:.0%} of places and steps{first}", loc="left")
        axes.set_xlabel("step", loc="right", fontsize="small")
        axes.set_ylabel("place", fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def find_outermost_in_space(prepared: Prepared) -> str | None:
    """Return the outermost loop in space; None without a spacetime mapping, or if all loops are in time."""
    spacetime = prepared.einsum.spacetime
    in_space = {stamp.rank for stamp in spacetime.space} if spacetime else set[str]()
    return next((rank for rank in prepared.einsum.loop_order if rank in in_space), None)


@dataclass(frozen=True)
class Imbalance:
    """The bodies of the innermost loop by instance, of an Einsum with a loop in space.

    Iterations of the outermost loop in space go round-robin to the instances.

    Args:
        work: by number of instances, the bodies of each instance. The keys are the numbers above 1 in the
            architecture.
    """

    work: dict[int, BodyCounter]

    @classmethod
    def create(cls, prepared: Prepared, configuration: Configuration) -> Imbalance | None:
        """Return the recorder of an Einsum; None without loops in space.

        If no component has several instances, the recorder counts nothing, and each ``factor`` is 1.

        Args:
            prepared: the Einsum before its run.
            configuration: the architecture with the numbers of instances.
        """
        space = find_outermost_in_space(prepared)
        if space is None:
            return None
        numbers = {unit.instances for unit in configuration.components.values() if unit.instances > 1}
        level = prepared.levels[space]
        # The distribution depends on the number only, so components with equal numbers share a counter
        work = {number: BodyCounter(np.zeros(number, np.int64), level) for number in sorted(numbers)}
        return cls(work)

    def attachments(self) -> Sequence[BodyAttachment]:
        """Return the recorders, for the observer of ``run`` to attach before the Einsum runs."""
        return [BodyAttachment(work) for work in self.work.values()]

    def factor(self, instances: int) -> float:
        """Return the bodies of the busiest instance, divided by the mean over all instances.

        The factor is 1 if no component has this number of instances, or if no body ran.

        Args:
            instances: number of instances of a component in its level.
        """
        if instances not in self.work:
            return 1.0
        bodies = np.asarray(self.work[instances].bodies)
        total = int(bodies.sum())
        return int(bodies.max()) * instances / total if total else 1.0
