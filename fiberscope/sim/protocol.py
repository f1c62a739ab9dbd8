"""Protocols of the tokens at a port: a name, and the meaning of each word of a token."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

WORDS = ("control", "coordinate", "reference", "value")  # of a token, in their order


@dataclass(frozen=True)
class Protocol:
    """Protocol of two ports, as in ``Protocol("tile pair", coordinate="a", reference="b")``.

    A word that is not named is not carried, and can be left out of a push if no named one is behind it. That
    is a matter of the declaration alone: a token costs the same whatever its protocol.

    Args:
        name: as it stands in messages.
        control, coordinate, reference, value: what that word of a token carries; empty: nothing.
    """

    name: str
    _: KW_ONLY
    control: str = ""
    coordinate: str = ""
    reference: str = ""
    value: str = ""

    def __str__(self) -> str:
        """The name, as messages have it."""
        return self.name

    @property
    def fields(self) -> dict[str, str]:
        """Return what is carried, by the word that carries it, in the order of the words."""
        return {word: field for word in WORDS if (field := getattr(self, word))}

    def describe(self) -> str:
        """The protocol in full, as in ``tile pair (coordinate: a, reference: b)``."""
        fields = ", ".join(f"{word}: {field}" for word, field in self.fields.items())
        return f"{self.name} ({fields})" if fields else self.name


# Of a port that passes on whatever it is given.
ANY = Protocol("any", control="control", coordinate="coordinate", reference="reference", value="value")
