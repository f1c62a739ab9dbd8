"""The debugger: a run that stops, is looked at, and goes back."""
