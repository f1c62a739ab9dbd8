"""A report of one small run, for comparing the compiled machine with the uncompiled.

Run as a script, it prints the report of the mode the environment chooses.
"""

from __future__ import annotations

from extensor_bench import TINY, small_operands

import fiberscope


def main_report() -> str:
    """The report of a run with the DRAM model, as JSON."""
    return fiberscope.simulate(
        "extensor", *small_operands(), settings=TINY | {"memory.model": "dram"}
    ).to_json()


if __name__ == "__main__":
    print(main_report())
