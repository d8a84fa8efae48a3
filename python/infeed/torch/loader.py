"""The PyTorch door: batches as tensors that share the batch's memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from .._typing import BatchLayout, one_of
from ..doors.layouts import hwc_images, with_channels_first
from ..doors.loader import Loader
from ..doors.options import LoaderOptions

try:
    import torch
    import torch.utils.dlpack
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("infeed.torch needs PyTorch: pip install torch") from error


if TYPE_CHECKING:
    from ..pipeline import Pipeline


class TorchLoader(Loader):
    """A :class:`~infeed.loader.Loader` whose arrays are tensors. Nothing is copied.

    * ``layout``: ``"nchw"`` gives images as N x C x H x W, and single images of a list as C x H x W. Images that lie as
      height x width x channels get there as a view of the same memory (``channels_last``). ``"nhwc"`` gives every image
      as the pipeline made it.

    An array that a Python function returns for such an image is an image still if it is NumPy's and has as many
    channels on its last axis. Tensors that functions return stay as they are.
    """

    def __init__(self, pipeline: Pipeline, *, layout: BatchLayout = "nchw", **options: Unpack[LoaderOptions]) -> None:
        one_of("layout", layout, BatchLayout)
        super().__init__(pipeline, **options)
        self.layout = layout
        #: Images that are handed out as views with channels first, and the numbers of channels they can have.
        self._turned = hwc_images(pipeline) if layout == "nchw" else {}
        on_batches = [function for function in pipeline._functions if function.op in ("tuple", "map_batch")]
        #: The fields of a batch that Python functions made, if it is a tuple of fields.
        self._made_tuple: tuple[str, ...] | None = None
        if on_batches and on_batches[-1].op == "tuple":
            self._made_tuple = tuple(on_batches[-1].call)
        # Part of the pickled loader.
        self._options = self._options | {"layout": layout}

    def explain(self) -> str:
        """The pipeline in words, and the images whose axes this door puts in another order."""
        return super().explain() + "".join(
            f"torch   {name}: N x C x H x W, a view of N x H x W x C in memory (channels_last)\n"
            for name in self._turned
        )

    def _field(self, batch: _core.Batch, name: str) -> Any:
        found = super()._field(batch, name)
        if name not in self._turned:
            return found
        if isinstance(found, list):
            return [_channels_first(item) for item in found]
        return _channels_first(found)

    def _arranged(self, value: Any) -> Any:
        turned = self._turned
        if isinstance(value, Mapping) and turned:
            return {k: with_channels_first(v, turned[k]) if k in turned else v for k, v in value.items()}
        names = self._made_tuple
        if type(value) is tuple and turned and names is not None and len(names) == len(value):
            pairs = zip(names, value, strict=True)
            return tuple(with_channels_first(v, turned[k]) if k in turned else v for k, v in pairs)
        return value

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
        made = torch.from_numpy(super()._dummy_array(name, dtype, shape))
        return _channels_first(made) if name in self._turned else made

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            # torch has neither read-only tensors nor negative strides. The copy lies as the array does.
            usable = value.flags.writeable and min(value.strides, default=0) >= 0
            return torch.from_numpy(value if usable else value.copy(order="K"))
        return value


def _channels_first(images: Any) -> Any:
    """A view of an image, or of a batch of them, with the channels first. Rows without a value are None."""
    return images.movedim(-1, -3) if isinstance(images, torch.Tensor) and images.ndim >= 3 else images


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
