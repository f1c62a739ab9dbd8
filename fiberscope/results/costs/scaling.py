"""Scaling of areas and energies between technology nodes.

Source: Stillmaker and Baas, "Scaling equations for the accurate prediction of CMOS device performance from
180 nm to 7 nm", Integration 58 (2017): the table of areas and the polynomials of energy, bulk CMOS and, from
45 nm on, high performance. The numbers are taken from two public programs that agree: nodeScale
(github.com/wromaszkan/nodeScale, a912c60) and hwcomponents. The paper itself was not available.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from math import exp, log

AREAS: Mapping[int, float] = {  # relative to the area in 45 nm
    7: 0.059,
    10: 0.1,
    14: 0.17,
    16: 0.19,
    20: 0.21,
    32: 0.46,
    45: 1.0,
    65: 1.5,
    90: 2.8,
    130: 6.4,
    180: 19.0,
}
ENERGIES: Mapping[int, tuple[float, float, float]] = {  # coefficients of V^2, V and 1
    7: (0.1776, -0.09097, 0.02447),
    10: (0.2068, -0.09311, 0.02375),
    14: (0.2363, -0.09675, 0.02239),
    16: (0.2958, -0.1241, 0.03024),
    20: (0.373, -0.1582, 0.04104),
    32: (0.8367, -0.4341, 0.1701),
    45: (1.018, -0.3107, 0.1539),
    65: (3.755, -4.398, 1.975),
    90: (4.762, -4.781, 2.092),
    130: (7.171, -6.709, 2.904),
    180: (0.0, 24.64, -17.98),
}
LIMITS = (min(AREAS), max(AREAS))  # nm


def compute_area_factor(source_nm: float, target_nm: float) -> float:
    """Return the factor by which an area changes between two technologies.

    Between two nodes of the table, the area is a power of the feature size.

    Args:
        source_nm, target_nm: feature sizes within ``LIMITS``.
    """
    return _interpolate(AREAS, target_nm) / _interpolate(AREAS, source_nm)


def compute_energy_factor(
    source_nm: float, source_volts: float, target_nm: float, target_volts: float
) -> float:
    """Return the factor by which the energy of an action changes between two technologies.

    The interpolation between nodes is that of ``compute_area_factor``.

    Args:
        source_nm, target_nm: feature sizes within ``LIMITS``.
        source_volts, target_volts: supply voltages.

    Raises:
        ValueError: as for ``evaluate_energy``.
    """
    return evaluate_energy(target_nm, target_volts) / evaluate_energy(source_nm, source_volts)


def evaluate_energy(nanometres: float, volts: float) -> float:
    """Return the energy at a feature size and a voltage, in the unit of the polynomials.

    Raises:
        ValueError: above 130 nm, the polynomial of 180 nm is not positive at the voltage (below 0.73 V).
    """
    energies = {
        node: square * volts**2 + linear * volts + constant
        for node, (square, linear, constant) in ENERGIES.items()
    }
    if nanometres > 130 and energies[180] <= 0.0:
        raise ValueError(f"above 130 nm, the equations hold from 0.73 V on, not at {volts:g} V")
    return _interpolate(energies, nanometres)


def _interpolate(table: Mapping[int, float], nanometres: float) -> float:
    """Return a value between two nodes of a table, linear in the logarithms of size and value.

    Args:
        table: positive values by feature size, in ascending order of sizes.
        nanometres: a size within the table.
    """
    nodes = list(table)
    index = max(1, bisect_left(nodes, nanometres))  # the smallest node is the lower end of the first pair
    low, high = nodes[index - 1], nodes[index]
    share = log(nanometres / low) / log(high / low)
    return exp((1 - share) * log(table[low]) + share * log(table[high]))
