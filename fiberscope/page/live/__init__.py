"""The live view: a page on this computer that shows a run, or a sweep, while it goes on."""

HOST = "127.0.0.1"
