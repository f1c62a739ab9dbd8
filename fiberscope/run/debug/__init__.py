"""Debugger: a run that can be stopped, inspected and moved back in time."""
