"""Synthesizable twins of the blocks in PyRTL, and their use in place of components in a run.

Needs the extra ``rtl``: ``pip install "fiberscope[rtl]"``.
"""
