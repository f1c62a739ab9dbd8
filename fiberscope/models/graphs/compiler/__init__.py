"""Compiler of tensor index notation to stream graphs: an expression, formats and an order of loops.

Source: the public compiler of the Sparse Abstract Machine, Custard (O. Hsu et al., ASPLOS 2023, Section 5).
"""
