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
SPARSE_LAYOUT: Final = 1 / 0.5  # ratio of layout area to cell area at the upper end of an interval
SRAM_AREA: Final = 1.55  # maximum ratio of other estimates to CACTI's
SRAM_ENERGY: Final = 2.0  # the same ratio for the energy of an access
FLIP_FLOP_PJ = 0.0059, 0.0080  # clock energy a cycle, minimum and maximum
LEAKAGE_W_PER_UM2 = 22e-9  # of cells, typical corner
FAST_CORNER = 3.7  # maximum ratio of leakage in the fast corner to the typical corner


def estimate_logic_area(lower: float, upper: float, basis: Basis, source: str) -> Cost:
    """Return the area of logic, from the area of the cells to the area of a sparse layout.

    Args:
        lower, upper: ends of the interval of the area of the cells, in um2.
        basis: the kind of the source.
        source: a description of the source.
    """
    return Cost(lower, upper * SPARSE_LAYOUT, basis, source)


def estimate_clock_energy(flip_flops: float, scale: float) -> Cost:
    """Return the clock energy of flip-flops in a cycle, in pJ, without buffers and wires of the clock tree.

    Args:
        flip_flops: number of flip-flops.
        scale: factor from the energy in 45 nm and 0.9 V to the technology of the machine.
    """
    lower, upper = (scale * flip_flops * energy for energy in FLIP_FLOP_PJ)
    return Cost(lower, upper, "law", "flip-flops times 5.9 to 8.0 fJ a cycle")


def estimate_logic_leakage(um2: float) -> Cost:
    """Return the leakage power of ``um2`` of cells in 45 nm, in W."""
    watts = um2 * LEAKAGE_W_PER_UM2
    return Cost(watts, FAST_CORNER * watts, "law", "22 mW/mm2 of cells")


def estimate_sram_leakage(sram: Sram, count: float, cells: SramCells) -> Cost:
    """Return the leakage power of SRAMs, in W: lower end at 300 K, upper end at 350 K.

    Args:
        sram: the estimate of one SRAM.
        count: number of such SRAMs.
        cells: the kind of transistors, which determines the ratio of both ends.
    """
    watts = count * sram.leakage_uw * 1e-6
    return Cost(watts, WARM[cells] * watts, "law", f"sram_table.csv: {cells}")
