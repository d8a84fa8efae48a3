"""Loaders, their options, and what they report."""

from .doors.loader import Loader
from .doors.options import DeviceOptions, LoaderOptions
from .reports import Ledger, Stats

__all__ = ["DeviceOptions", "Ledger", "Loader", "LoaderOptions", "Stats"]
