"""What can go wrong at the front door, and the exit code of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fiberscope.results.report.document import Report

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "MACHINE_WRONG",
    "POINTS_FAILED",
    "UNREAD",
    "DeadlockedRunError",
    "FailedRunError",
    "InputError",
    "MisplacedRequestsError",
    "UnwrittenFileError",
    "VerificationError",
]

BAD_INPUT = 2
MACHINE_WRONG = 3
POINTS_FAILED = 4  # of a sweep; each has its row
INTERRUPTED = 130
UNREAD = 141  # who reads the output has gone, as a program that ends by SIGPIPE says


class InputError(ValueError):
    """One line about something the user can put right; the command line exits with ``BAD_INPUT``."""


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
