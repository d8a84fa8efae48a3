"""Pipelines: lazy, immutable descriptions of what to read and what to do with it."""

from .core import Pipeline

__all__ = ["Pipeline"]
