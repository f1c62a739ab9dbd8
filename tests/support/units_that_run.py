"""Which component classes of ``hw`` machines, conversions and graphs are made of."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
