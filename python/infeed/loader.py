"""Loaders: pipelines in motion, and what they report."""

from .doors.loader import Loader
from .reports import Ledger, Stats

__all__ = ["Ledger", "Loader", "Stats"]
