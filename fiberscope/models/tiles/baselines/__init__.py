"""Baselines of D2T2: squares that fit, just fit or nearly fit, and tiles that grow while in use."""
