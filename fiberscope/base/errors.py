"""Exit codes of the command line, and the errors that user input and Ctrl-C cause."""

BAD_INPUT = 2
MACHINE_WRONG = 3  # deadlock or wrong result of the simulated machine, or RTL that differs from its model
POINTS_FAILED = 4  # points of a sweep, each with a row in the store
INTERRUPTED = 130  # the shell's code for SIGINT
OUTPUT_CLOSED = 141  # the reader of the output is gone; the shell's code for SIGPIPE


class InputError(ValueError):
    """An error that the user can correct, in one line; the command line exits with ``BAD_INPUT``."""


class InterruptedCommandError(Exception):
    """A command that Ctrl-C ended; names the missing outputs if the command knows them."""
