"""Figures of studies for papers: sizes of columns, patterns of series, bars, rooflines and fronts."""
