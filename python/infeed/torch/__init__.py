"""The PyTorch doors: tensors that share the batch's memory, batches that are already on the device, and a drop-in
replacement for torch's ``DataLoader``.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

try:
    import torch as _torch  # noqa: F401
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("infeed.torch needs PyTorch: pip install infeed[torch]") from error

from .dataloader import DataLoader

if _TYPE_CHECKING:
    from . import on_device
    from .device import DeviceLoader
    from .loader import TorchLoader

__all__ = ["DataLoader", "DeviceLoader", "TorchLoader", "on_device"]

# Imported when they are asked for: every worker process that is not forked imports this package.
_PLACES = {"DeviceLoader": ".device", "TorchLoader": ".loader"}
_MODULES = ("delivery", "device", "lanes", "loader", "on_device", "staging")


def __getattr__(name: str) -> _Any:
    if name in _PLACES:
        found = getattr(_importlib.import_module(_PLACES[name], __name__), name)
    elif name in _MODULES:
        found = _importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
