"""Says when a cache of samples keeps nothing any more: once, and the epoch goes on."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .loader import Loader

_said: set[str] = set()


def warn_of_caches(loader: Loader) -> None:
    """Warn of what stopped the caches of a loader, unless that was said before."""
    # Also in the recipes that it joins; most have none, and need not be asked after every epoch.
    if '"op": "cache"' not in loader.pipeline._json:
        return
    # The interpreter ends: nobody would see it, and modules are gone.
    if globals().get("json") is None:
        return
    for cache in json.loads(loader._core.stats_json())["sample_caches"]:
        what = cache["warning"]
        if what is not None and what not in _said:
            _said.add(what)
            warnings.warn(what, RuntimeWarning, stacklevel=3)
