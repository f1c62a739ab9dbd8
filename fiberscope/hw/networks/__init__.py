"""Crossbars, and networks that route rows."""
