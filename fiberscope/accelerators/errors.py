"""The exceptions this room raises for what a user can put right."""

__all__ = ["ConfigurationError", "ConflictError"]


class ConfigurationError(ValueError):
    """One line that says what is wrong with a machine's parameters, where, and what would be right."""


class ConflictError(ConfigurationError):
    """Each value could be, and together they cannot."""
