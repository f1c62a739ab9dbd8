"""Errors, progress callbacks, text encoding, interrupts and the version: what every package may import."""
