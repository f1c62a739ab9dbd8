"""Many runs: which points, the engine that runs them, and what becomes of those that fail."""
