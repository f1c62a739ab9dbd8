"""Errors of a run that still has a report, in the attribute ``report``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError

if TYPE_CHECKING:
    from fiberscope.results.report.document import Report


class UnwrittenFileError(InputError):
    """The run finished, but a recorded file, such as a waveform, could not be written completely.

    ``report`` is the report of the run.
    """

    def __init__(self, message: str, report: Report) -> None:
        self.report = report
        super().__init__(message)


class FailedRunError(Exception):
    """The simulated machine failed; the command line exits with ``MACHINE_WRONG``.

    ``report`` is the report of the run.
    """

    def __init__(self, message: str, report: Report) -> None:
        self.report = report
        super().__init__(message)


class VerificationError(FailedRunError):
    """The machine's answer, such as a product, differs from the reference."""


class MisplacedRequestsError(FailedRunError):
    """Memory requests are illegal for the arrays at their addresses; the message lists the first faults."""


class DeadlockedRunError(FailedRunError):
    """The machine deadlocked; the message names each waiting component."""


def raise_fault(
    report: Report,
    *,
    deadlock: object = None,
    wrong: str | None = None,
    misplaced: Sequence[str] = (),
    unwritten: str | None = None,
) -> None:
    """Raise the most severe fault of a run, if any.

    The message of a more severe fault does not mention ``unwritten``.

    Args:
        report: the report of the run, stored in the error.
        deadlock: the waiting components, as an error or a text; None without a deadlock.
        wrong: the difference between the result and the reference; None if they agree.
        misplaced: the faults of memory requests, as ``RequestCheck.ended`` returns them.
        unwritten: the file that could not be written, and the reason.

    Raises:
        DeadlockedRunError, VerificationError, MisplacedRequestsError, UnwrittenFileError: in this order of
            severity. The message of the first two also has the lines of ``misplaced``.
    """
    for error, message in ((DeadlockedRunError, deadlock), (VerificationError, wrong)):
        if message is not None:
            raise error("\n".join([str(message), *misplaced]), report)
    if misplaced:
        raise MisplacedRequestsError("\n".join(misplaced), report)
    if unwritten is not None:
        raise UnwrittenFileError(unwritten, report)


def refuse_interrupted(report: Report) -> Report:
    """Return a report; refuse the report of an interrupted run, because studies compare whole runs.

    Raises:
        KeyboardInterrupt: the run was interrupted.
    """
    if report.ending == "interrupted":
        raise KeyboardInterrupt
    return report
