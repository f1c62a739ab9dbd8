"""Live view: a local page that shows a run or sweep in progress."""

HOST = "127.0.0.1"
