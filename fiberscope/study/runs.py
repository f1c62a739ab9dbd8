"""The runs of a study."""

from __future__ import annotations

from typing import Any

from fiberscope.api import simulate
from fiberscope.interrupts import finished
from fiberscope.report.document import Report

__all__ = ["run"]


def run(*operands: Any, **options: Any) -> Report:  # noqa: ANN401  (those of ``simulate``)
    """Simulate, to the end.

    Raises:
        KeyboardInterrupt: the run was interrupted.
    """
    return finished(simulate(*operands, **options))
