"""Figures of logic and SRAM in 45 nm beside areas: density of a layout, clock, leakage, and their intervals.

- Density: cells take about 0.7 of the area of a layout in commercial flows (Ariane in Nangate45, TILOS
  MacroPlacement), and 0.4 to 0.5 in the open one (Ibex, SweRV in Nangate45, OpenROAD-flow-scripts).
- Clock: OpenSTA on accumulator and sorted_head in which nothing but the clock toggles, without leakage, for a
  flip-flop and cycle at 0.9 V: 5.9 fJ in osu018, scaled, and 6.5 to 8.0 fJ in Nangate45.
- Leakage of logic: common cells of Nangate45 in the typical corner, 25 C and 1.1 V; those of the fast corner
  have 3.2 to 3.7 times as much.
- Areas of SRAM: the macros fakeram45 of OpenROAD-flow-scripts are 1.3 to 1.55 times as large as CACTI's here.
- Energies of SRAM: other published and estimated figures are mostly within a factor of 2.
"""

from __future__ import annotations

from typing import Final

from fiberscope.hw.rtl.tools.sram_table import WARM, Sram, SramCells
from fiberscope.results.costs.cost import Basis, Cost

__all__ = [
    "SPARSE_LAYOUT",
    "SRAM_AREA",
    "SRAM_ENERGY",
    "TABLES_NM",
    "TABLES_VOLTS",
    "clock_energy",
    "logic_area",
    "logic_leakage",
    "sram_leakage",
]

TABLES_NM, TABLES_VOLTS = 45.0, 0.9  # of energies.yaml, areas.yaml and the figures here
SPARSE_LAYOUT: Final = 1 / 0.5  # area of a layout over that of its cells, at most
SRAM_AREA: Final = 1.55  # other estimates over CACTI's, at most
SRAM_ENERGY: Final = 2.0  # the same of an access
FLIP_FLOP_PJ = 0.0059, 0.0080  # of the clock, a cycle
LEAKAGE_W_PER_UM2 = 22e-9
FAST_CORNER = 3.7


def logic_area(lower: float, upper: float, basis: Basis, source: str) -> Cost:
    """Return the area of logic in um2: at least that of its cells, at most a sparse layout of them."""
    return Cost(lower, upper * SPARSE_LAYOUT, basis, source)


def clock_energy(flip_flops: float, scale: float) -> Cost:
    """Return the energy of the clock in so many flip-flops in a cycle, in pJ.

    The buffers and wires of the tree are not counted.
    """
    lower, upper = (scale * flip_flops * each for each in FLIP_FLOP_PJ)
    return Cost(lower, upper, "law", "flip-flops times 5.9 to 8.0 fJ a cycle")


def logic_leakage(um2: float) -> Cost:
    """Return the power of the leakage of so many um2 of cells in 45 nm, in W."""
    watts = um2 * LEAKAGE_W_PER_UM2
    return Cost(watts, FAST_CORNER * watts, "law", "22 mW/mm2 of cells")


def sram_leakage(sram: Sram, count: float, cells: SramCells) -> Cost:
    """Return the power of the leakage of so many SRAMs, in W: at 300 K, and at most at 350 K."""
    watts = count * sram.leakage_uw * 1e-6
    return Cost(watts, WARM[cells] * watts, "law", f"sram_table.csv: {cells}")
