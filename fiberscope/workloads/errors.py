"""The exception of this package for faults that a user can correct."""

from __future__ import annotations

from collections.abc import Iterable

MAX_NAMES = 20


class WorkloadError(ValueError):
    """A workload that is not available: one line with the fault, its location and the remedy.

    The command line exits with code 2.

    >>> str(WorkloadError("row 9 is outside the 8 rows", location="a.mtx", line=4))
    'a.mtx:4: row 9 is outside the 8 rows'
    """

    def __init__(
        self, fault: str, *, location: str | None = None, line: int | None = None, fix: str | None = None
    ) -> None:
        """Compose the message.

        Args:
            fault: a description of the fault.
            location: file or key.
            line: line of the file, counted from 1.
            fix: the remedy.
        """
        prefix = ":".join(str(item) for item in (location, line) if item is not None)
        text = f"{prefix}: {fault}" if prefix else fault
        super().__init__(" ".join(f"{text}; {fix}".split()) if fix else " ".join(text.split()))


def suggest(name: str, names: Iterable[str]) -> str:
    """Return advice with the name most similar to ``name``, or else all names or the first names."""
    import difflib  # noqa: PLC0415  (the package is imported before Ctrl-C is handled)

    choices = sorted(names)
    close = difflib.get_close_matches(name.lower(), [choice.lower() for choice in choices], n=3, cutoff=0.5)
    suggestions = [choice for low in close for choice in choices if choice.lower() == low]
    if suggestions:
        return "did you mean " + " or ".join(dict.fromkeys(suggestions)) + "?"
    remainder = [f"and {len(choices) - MAX_NAMES} more"] if len(choices) > MAX_NAMES else []
    return "known: " + ", ".join([*choices[:MAX_NAMES], *remainder])
