"""D2T2: choice of the shape and size of tiles from statistics of the tensors, before any run.

Source: R. Sharma et al., "A Probabilistic Perspective on Tiling Sparse Tensor Algebra", MICRO 2025.
"""
