"""Exceptions of accelerators for errors that a user can correct."""


class ConfigurationError(ValueError):
    """Error in the parameters of a machine; the message is one line: what is wrong, where, what is right."""


class ConflictError(ConfigurationError):
    """Error: the values of several parameters are possible alone, but not together."""
