"""Errors of a run that leaves a report all the same; each has it as ``report``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError

if TYPE_CHECKING:
    from fiberscope.results.report.document import Report

__all__ = [
    "DeadlockedRunError",
    "FailedRunError",
    "MisplacedRequestsError",
    "UnwrittenFileError",
    "VerificationError",
    "raise_fault",
    "refuse_interrupted",
]


class UnwrittenFileError(InputError):
    """The run is done, and its waveform or memory trace could not be written to the end.

    ``report`` is that of the run.
    """

    def __init__(self, message: str, report: Report) -> None:
        self.report = report
        super().__init__(message)


class FailedRunError(Exception):
    """The simulated machine went wrong; the command line exits with ``MACHINE_WRONG``.

    ``report`` is what is known of the run.
    """

    def __init__(self, message: str, report: Report) -> None:
        self.report = report
        super().__init__(message)


class VerificationError(FailedRunError):
    """The machine's product is not the product of its operands."""


class MisplacedRequestsError(FailedRunError):
    """Memory got requests that are none of their tensor's; the message has a line for each, up to some."""


class DeadlockedRunError(FailedRunError):
    """The machine came to a standstill before it was done; the message names who waits for what."""


def raise_fault(
    report: Report,
    *,
    deadlock: object = None,
    wrong: str | None = None,
    misplaced: Sequence[str] = (),
    unwritten: str | None = None,
) -> None:
    """Raise the most severe fault of a run, if there is any.

    Args:
        report: the report of the run, which the error holds.
        deadlock: the components that wait, as an error or a text; None if there is no deadlock.
        wrong: the difference between the answer and the reference; None if the answer is right.
        misplaced: a line for each misplaced memory request.
        unwritten: the file that could not be written, and why.
    """
    for error, message in ((DeadlockedRunError, deadlock), (VerificationError, wrong)):
        if message is not None:
            raise error("\n".join([str(message), *misplaced]), report)
    if misplaced:
        raise MisplacedRequestsError("\n".join(misplaced), report)
    if unwritten is not None:
        raise UnwrittenFileError(unwritten, report)


def refuse_interrupted(report: Report) -> Report:
    """The report of a run that was not interrupted: half a run has no place beside whole ones.

    Raises:
        KeyboardInterrupt: it was.
    """
    if report.ending == "interrupted":
        raise KeyboardInterrupt
    return report
