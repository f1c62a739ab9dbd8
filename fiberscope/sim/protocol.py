"""Protocols of the tokens at a port: a name, and the meaning of each word of a token."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

WORDS = ("control", "coordinate", "reference", "value")  # of a token, in their order


@dataclass(frozen=True)
class Protocol:
    """A protocol that two ports share, such as ``Protocol("tile pair", coordinate="a", reference="b")``.

    A word without a name is unused. A push may omit unused words after the last named word. The protocol is a
    declaration only: the cost of a token does not depend on it.

    Args:
        name: name in messages.
        control, coordinate, reference, value: meaning of that word of a token; empty for an unused word.
    """

    name: str
    _: KW_ONLY
    control: str = ""
    coordinate: str = ""
    reference: str = ""
    value: str = ""

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    @property
    def fields(self) -> dict[str, str]:
        """Meaning of each used word, in the order of the words."""
        return {word: field for word in WORDS if (field := getattr(self, word))}

    def describe(self) -> str:
        """Return the name and the fields, such as ``tile pair (coordinate: a, reference: b)``."""
        fields = ", ".join(f"{word}: {field}" for word, field in self.fields.items())
        return f"{self.name} ({fields})" if fields else self.name


# The protocol of a port that forwards tokens of any protocol.
ANY = Protocol("any", control="control", coordinate="coordinate", reference="reference", value="value")
