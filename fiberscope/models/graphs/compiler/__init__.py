"""From tensor index notation to stream graphs: ``X(i,j) = B(i,k) * C(k,j)``, formats and an order of loops.

Source: the public compiler of the Sparse Abstract Machine, Custard (O. Hsu et al., ASPLOS 2023, Section 5).
"""
