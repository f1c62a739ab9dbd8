"""User errors, wrong results, and the exit code of each."""

from __future__ import annotations

BAD_INPUT = 2
MACHINE_WRONG = 3
POINTS_FAILED = 4  # of a sweep; each has its row
INTERRUPTED = 130
UNREAD = 141  # the reader of the output is gone; the shell's code for SIGPIPE


class InputError(ValueError):
    """An error that the user can correct, in one line; the command line exits with ``BAD_INPUT``."""


class InterruptedCommandError(Exception):
    """A command that Ctrl-C ended; names the missing outputs if the command knows them."""
