"""A report of one small run, for comparing the compiled machine with the uncompiled.

Run as a script, ``extensor_reports.py ROOT FILE``, it writes the report of the mode the environment chooses.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])

from extensor_bench import TINY, small_operands

import fiberscope


def main_report() -> str:
    """The report of a run with the DRAM model, as JSON."""
    return fiberscope.simulate(
        "extensor", *small_operands(), settings=TINY | {"memory.model": "dram"}
    ).to_json()


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(main_report(), encoding="utf-8")
