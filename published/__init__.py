"""Reproductions of the published results: each module runs one paper's figures and lays ours beside them."""
