"""What documents in JSON have in common: how they are read and written."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from pydantic import BaseModel

from fiberscope.errors import InputError
from fiberscope.report.files import write_text

__all__ = ["Document"]


class Document(BaseModel):
    """One whose schema is the default of a field ``schema_name``."""

    called: ClassVar[str]
    indentation: ClassVar[int | None] = None

    def to_json(self) -> str:
        """The document as JSON with a final newline."""
        return self.model_dump_json(by_alias=True, indent=self.indentation) + "\n"

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """One written earlier.

        Raises:
            InputError: the file cannot be read or is no such document.
        """
        try:
            return cls.model_validate_json(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"{path}: cannot read the {cls.called}: {error.strerror}") from error
        except ValueError as error:
            schema = cls.model_fields["schema_name"].default
            raise InputError(f"{path}: not a {cls.called} of the schema {schema}") from error

    def write(self, path: str | Path) -> None:
        """Write the document at once: a reader sees the old file or the new one, never a part.

        Raises:
            InputError: the file cannot be written.
        """
        write_text(Path(path), self.to_json())
