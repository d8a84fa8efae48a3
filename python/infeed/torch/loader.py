"""The PyTorch door: batches as tensors that share the batch's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..doors.loader import Loader

try:
    import torch
    import torch.utils.dlpack
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("infeed.torch needs PyTorch: pip install torch") from error


class TorchLoader(Loader):
    """A :class:`~infeed.loader.Loader` whose arrays are tensors. Nothing is copied."""

    def _array(self, array: _core.Array) -> Any:
        if array.nbytes == 0:
            return torch.empty(array.shape, dtype=_DTYPES[array.dtype])
        if array.readonly:
            # torch has no read-only tensors. These bytes are shared with other samples of the shard, and a write through
            # a view would corrupt them: copy.
            return torch.frombuffer(bytearray(array), dtype=_DTYPES[array.dtype]).reshape(array.shape)
        return torch.utils.dlpack.from_dlpack(array)

    def _dummy_array(self, name: str, dtype: str, shape: tuple[int, ...]) -> Any:
        if dtype == "bf16":
            return self._dummy_array(name, "f32", shape).to(torch.bfloat16)
        return torch.from_numpy(super()._dummy_array(name, dtype, shape))

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            # torch has no read-only tensors.
            return torch.from_numpy(value if value.flags.writeable else value.copy())
        return value


_DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "u16": torch.uint16,
    "i16": torch.int16,
    "u32": torch.uint32,
    "i32": torch.int32,
    "u64": torch.uint64,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
