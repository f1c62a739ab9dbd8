"""Errors of texts that a grammar rejects: the position, the unexpected text, and the expected texts."""

from __future__ import annotations

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

_LONGEST = 2000  # characters; expressions in the literature are far shorter
_DEEPEST = 40  # nested parentheses
_MOST_OPERATORS = 100  # each is a level of the tree at worst, and readers of the tree call themselves
# Names of the grammar's terminals in plain words; a terminal that is missing here appears under its own name
_WORDS = {
    "NAME": "a name",
    "LETTERS": "a name",
    "PARAMETER": "a parameter",
    "NUMBER": "a number",
    "DECIMAL": "a number",
    "ASSIGN": "= or +=",
    "LSQB": "[",
    "RSQB": "]",
    "LBRACE": "{",
    "RBRACE": "}",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "EQUAL": "=",
    "PLUS": "+",
    "MINUS": "-",
    "STAR": "*",
    "SLASH": "/",
    "DOT": ".",
    "UNDERSCORE": "_",
    "$END": "the end",
}


class UnreadableTextError(ValueError):
    """A text that does not match the grammar; ``column`` counts from 0."""

    def __init__(self, message: str, column: int) -> None:
        self.column = column
        super().__init__(message)


def check_size(text: str) -> None:
    """Refuse a text that is too long or too deeply nested for a parser.

    Readers of the tree recurse, so without this check such a text can end in a ``RecursionError``.
    The check does not balance the parentheses; the parser refuses unbalanced parentheses.

    Raises:
        UnreadableTextError: the text is too long or too deep, or has too many operators.
    """
    if len(text) > _LONGEST:
        raise UnreadableTextError(f"{len(text):,} characters are too many; {_LONGEST:,} are read", 0)
    depth = operators = 0
    for column, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        operators += letter in "+-*/\u2217"
        if operators > _MOST_OPERATORS:
            raise UnreadableTextError(f"more than {_MOST_OPERATORS} operators; write it as several", column)
        if depth > _DEEPEST:
            raise UnreadableTextError(f"more than {_DEEPEST} parentheses within one another", column)


def build_syntax_error(error: UnexpectedInput, text: str) -> UnreadableTextError:
    """Return the error of a parser in plain words: the unexpected text, its position, the expected texts."""
    if isinstance(error, UnexpectedCharacters):  # a character with which no terminal of the grammar begins
        column = error.pos_in_stream or 0
        return UnreadableTextError(f"found {text[column]!r}, which means nothing here", column)
    assert isinstance(error, UnexpectedToken)
    at_end = error.token.type == "$END"
    token_text = "the end" if at_end else f"'{error.token}'"
    # ``accepts`` has only what the parser would accept here; ``expected`` can have more, and is the fallback
    expected = sorted(_WORDS.get(word, word) for word in error.accepts or error.expected)
    column = len(text) if at_end else int(error.pos_in_stream or 0)
    return UnreadableTextError(f"found {token_text}, expected {' or '.join(expected)}", column)
