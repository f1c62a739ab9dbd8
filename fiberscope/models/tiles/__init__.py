"""D2T2: the shape and size of tiles chosen from statistics of the tensors, before anything is run.

Source: R. Sharma et al., "A Probabilistic Perspective on Tiling Sparse Tensor Algebra", MICRO 2025.
"""
