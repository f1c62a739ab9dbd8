"""Chains of products, each computed by the machine in turn: ``Y = A X; Z = Y W``."""
