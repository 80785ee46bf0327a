"""The version, for what names it below the package's own module."""

__version__ = "0.1.0"  # the same stands in pyproject.toml
