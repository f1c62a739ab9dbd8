"""User errors, wrong results, and the exit code of each."""

from __future__ import annotations

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "MACHINE_WRONG",
    "POINTS_FAILED",
    "UNREAD",
    "InputError",
    "InterruptedCommandError",
]

BAD_INPUT = 2
MACHINE_WRONG = 3
POINTS_FAILED = 4  # of a sweep; each has its row
INTERRUPTED = 130
UNREAD = 141  # who reads the output has gone, as a program that ends by SIGPIPE says


class InputError(ValueError):
    """One line about something the user can put right; the command line exits with ``BAD_INPUT``."""


class InterruptedCommandError(Exception):
    """A command that Ctrl-C ended; what it has not written, where the command itself says so."""
