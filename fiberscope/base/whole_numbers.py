"""Whole numbers in texts of users."""

MAX_DIGITS = 18  # such a number fits in a signed word of 64 bits; ``int`` refuses texts above 4,300 digits


def read_whole_number(text: str) -> int | None:
    """Return the number that a text of ASCII digits represents; None for any other or a longer text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else None
