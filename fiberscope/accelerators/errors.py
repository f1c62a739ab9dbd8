"""The exceptions this room raises for what a user can put right."""

__all__ = ["ConfigurationError", "ConflictError"]


class ConfigurationError(ValueError):
    """One line that says what is wrong with a machine's parameters, where, and what would be right."""


class ConflictError(ConfigurationError):
    """Error: the values of several parameters are possible alone, but not together."""
