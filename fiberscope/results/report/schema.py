"""JSON documents with a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar, Self

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from fiberscope.base.errors import InputError
from fiberscope.base.text_encoding import escape_undecodable
from fiberscope.results.report.files import read_bytes, write_text
from fiberscope.results.report.releases import describe_unreadable


class Document(BaseModel):
    """A document, the base class of reports and other files.

    A subclass declares the field ``schema_name``, with the alias ``schema`` and the name of the schema as its
    default.

    Attributes:
        called: the kind of document in messages, such as ``report``.
        indentation: spaces per level in ``to_json``; None for one line.
    """

    called: ClassVar[str]
    indentation: ClassVar[int | None] = None

    def to_json(self) -> str:
        """Return the document as JSON with a final newline."""
        return self.dump(self.indentation) + "\n"

    def dump(self, indentation: int | None = None) -> str:
        """Return the document as JSON without a final newline; undecodable names are escaped.

        Args:
            indentation: spaces per level; None for one line, whatever the class's ``indentation``.
        """
        try:
            return self.model_dump_json(by_alias=True, indent=indentation)
        except PydanticSerializationError:  # a file name that is not UTF-8 has surrogates
            plain = escape_undecodable(self.model_dump(mode="json", by_alias=True))
            return json.dumps(plain, indent=indentation, ensure_ascii=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a document.

        Raises:
            InputError: the file cannot be read or is no such document.
        """
        try:
            content = read_bytes(Path(path))
        except OSError as error:
            raise InputError(f"{path}: cannot read the {cls.called}: {error.strerror}") from error
        return cls.parse(content, str(path))

    @classmethod
    def parse(cls, content: bytes | str, name: str) -> Self:
        """Parse the text of a document.

        A document of an earlier release is read if its class converts it, as reports do.

        Args:
            content: JSON.
            name: the name of the file or row, for messages.

        Raises:
            InputError: the text is no such document.
        """
        try:
            return cls.model_validate_json(content)
        except ValueError as error:
            schema = cls.model_fields["schema_name"].default
            reason = describe_unreadable(content, schema, error)
            raise InputError(f"{name}: {reason or f'not a {cls.called} of the schema {schema}'}") from error

    def write(self, path: str | Path) -> None:
        """Write the document atomically, or to standard output if the path is ``-``.

        Raises:
            InputError: the file cannot be written, or there is no standard output.
            OSError: standard output cannot be written to.
        """
        write_text(Path(path), self.to_json())
