"""Figures of studies for papers: grouped and stacked bars, rooflines and Pareto fronts."""
