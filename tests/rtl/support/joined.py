"""Compositions that are no blocks of the catalogue but are tried as such, by name: a pair for a seed."""

from dot_pair import dot_pair

JOINED = {"dot": dot_pair}
