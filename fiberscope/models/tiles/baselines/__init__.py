"""Baselines of D2T2: square tiles that fit, just fit or nearly fit, and tiles that grow at run time."""
