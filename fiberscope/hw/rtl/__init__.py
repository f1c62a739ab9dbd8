"""Synthesizable twins of the blocks, in PyRTL, and how RTL takes a component's place in a running machine.

Needs the extra ``rtl``: ``pip install "fiberscope[rtl]"``.
"""
