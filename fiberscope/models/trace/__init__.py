"""Trace model: run a cascade of mapped Einsums on real tensors and count the actions of its machine.

Source: TeAAL (Nayak et al., MICRO 2023).
"""

from fiberscope import sim  # noqa: F401  (it chooses between the compiled and the uncompiled form of what follows)
