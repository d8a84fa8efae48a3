"""The PyTorch doors: tensors that share the batch's memory, batches that are already on the device, and a drop-in
replacement for torch's ``DataLoader``.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("infeed.torch needs PyTorch: pip install infeed[torch]") from error

from . import on_device
from .dataloader import DataLoader
from .device import DeviceLoader
from .loader import TorchLoader

__all__ = ["DataLoader", "DeviceLoader", "TorchLoader", "on_device"]
