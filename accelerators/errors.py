"""The one exception this room raises for what a user can put right."""

__all__ = ["ConfigurationError"]


class ConfigurationError(ValueError):
    """One line that says what is wrong with a machine's parameters, where, and what would be right."""
