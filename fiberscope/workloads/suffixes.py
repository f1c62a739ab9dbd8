"""Suffixes of matrix files, and the signatures of binary formats. This module reads no file."""

from __future__ import annotations

from pathlib import Path

MATLAB = b"MATLAB 5.0 MAT"
MAGIC = {b"PK": ".npz", b"\x93NUMPY": ".npy", MATLAB: ".mat"}  # signatures
EDGE_SUFFIXES = (".txt", ".el", ".wel", ".edges", ".edgelist", ".tsv")
GRAPH_SUFFIXES = (".gr", ".graph", ".sg", ".wsg")
_PLAIN = (".mtx", ".ttx", ".tns", ".smtx", *EDGE_SUFFIXES, *GRAPH_SUFFIXES)
SUFFIXES = (*_PLAIN, *(f"{suffix}.gz" for suffix in _PLAIN), *MAGIC.values())


def suffix_of(file: Path) -> str:
    """Return the suffix of a file's name, without ``.gz``, in lower case."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
