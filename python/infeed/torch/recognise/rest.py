"""The transforms that are left in Python, applied to the results of the native part."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .chain import Form


class Rest:
    """The transforms after the last native one. They get the image in the form in which torchvision would pass it."""

    def __init__(self, transforms: list[Any], form: Form, wrapped: bool) -> None:
        self.transforms = transforms
        self.form = form
        #: Whether the image is torchvision's own tensor type (after ``ToImage``).
        self.wrapped = wrapped

    def __call__(self, image: np.ndarray[Any, Any]) -> torch.Tensor:
        """One image."""
        value: Any = self._met(image)
        for transform in self.transforms:
            value = transform(value)
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"default_collate takes tensors, and the transforms gave {type(value).__name__}: end them with ToImage()"
                " or ToTensor()"
            )
        return value.as_subclass(torch.Tensor)

    def _met(self, image: np.ndarray[Any, Any]) -> Any:
        if self.form is Form.PIL:
            from PIL import Image

            return Image.fromarray(image)
        image = image if image.flags.writeable else image.copy()
        if self.form is Form.NUMPY:
            return image
        tensor = torch.from_numpy(image)
        if not self.wrapped:
            return tensor
        from torchvision import tv_tensors

        return tv_tensors.Image(tensor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rest) or (self.form, self.wrapped) != (other.form, other.wrapped):
            return False
        return [id(t) for t in self.transforms] == [id(t) for t in other.transforms]

    def __hash__(self) -> int:
        return hash((self.form, self.wrapped, len(self.transforms)))
