"""Figures of logic and SRAM in 45 nm: layout density, clock, leakage, and their intervals.

- Density: cells take about 0.7 of the area of a layout in commercial flows (Ariane in Nangate45, TILOS
  MacroPlacement), and 0.4 to 0.5 in the open-source flow (Ibex, SweRV in Nangate45, OpenROAD-flow-scripts).
- Clock: OpenSTA on accumulator and sorted_head with only the clock toggling, without leakage, for a
  flip-flop and cycle at 0.9 V: 5.9 fJ in osu018, scaled, and 6.5 to 8.0 fJ in Nangate45.
- Leakage of logic: common cells of Nangate45 in the typical corner, 25 C and 1.1 V. The fast corner has 3.2
  to 3.7 times the leakage.
- Areas of SRAM: the macros fakeram45 of OpenROAD-flow-scripts are 1.3 to 1.55 times as large as CACTI's here.
- Energies of SRAM: other published and estimated figures are mostly within a factor of 2.
"""

from __future__ import annotations

from typing import Final

from fiberscope.hw.rtl.tools.sram_table import WARM, Sram, SramCells
from fiberscope.results.costs.cost import Basis, Cost

TABLES_NM, TABLES_VOLTS = 45.0, 0.9  # technology of energies.yaml, areas.yaml and the figures here
SPARSE_LAYOUT: Final = 1 / 0.5  # maximum ratio of layout area to cell area
SRAM_AREA: Final = 1.55  # maximum ratio of other estimates to CACTI's
SRAM_ENERGY: Final = 2.0  # the same ratio for the energy of an access
FLIP_FLOP_PJ = 0.0059, 0.0080  # clock energy a cycle, minimum and maximum
LEAKAGE_W_PER_UM2 = 22e-9
FAST_CORNER = 3.7


def logic_area(lower: float, upper: float, basis: Basis, source: str) -> Cost:
    """Return the area of logic in um2, from the area of the cells to the area of a sparse layout."""
    return Cost(lower, upper * SPARSE_LAYOUT, basis, source)


def clock_energy(flip_flops: float, scale: float) -> Cost:
    """Return the clock energy of ``flip_flops`` flip-flops in a cycle, in pJ.

    The buffers and wires of the clock tree are not included.
    """
    lower, upper = (scale * flip_flops * energy for energy in FLIP_FLOP_PJ)
    return Cost(lower, upper, "law", "flip-flops times 5.9 to 8.0 fJ a cycle")


def logic_leakage(um2: float) -> Cost:
    """Return the leakage power of ``um2`` of cells in 45 nm, in W."""
    watts = um2 * LEAKAGE_W_PER_UM2
    return Cost(watts, FAST_CORNER * watts, "law", "22 mW/mm2 of cells")


def sram_leakage(sram: Sram, count: float, cells: SramCells) -> Cost:
    """Return the leakage power of ``count`` SRAMs, in W: lower end at 300 K, upper end at 350 K."""
    watts = count * sram.leakage_uw * 1e-6
    return Cost(watts, WARM[cells] * watts, "law", f"sram_table.csv: {cells}")
