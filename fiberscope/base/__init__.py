"""Errors, progress callbacks, text encoding, interrupts and the version: imports for every package."""
