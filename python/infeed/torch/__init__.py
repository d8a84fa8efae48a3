"""The PyTorch door: infeed's batches as tensors, and a drop-in for torch's ``DataLoader``."""

from .dataloader import DataLoader
from .loader import TorchLoader

__all__ = ["DataLoader", "TorchLoader"]
