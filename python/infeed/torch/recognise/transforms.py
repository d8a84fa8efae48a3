"""Transforms of torchvision (v1 and v2) and their native twins.

A twin gives exactly what torchvision gives for the form of image at that point; otherwise the transform has no twin.
Defaults differ between PIL images and tensors, and between integer and float tensors. :func:`translate` reads a chain
of transforms from the front and reports the first without a twin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from .chain import Chain, Form, fill, interpolation, make, resizing
from .own import check_methods
from .words import Unknown, short

# What a transform does is in these; a program that replaces one means its replacement.
METHODS = ("__call__", "forward", "transform", "make_params", "get_params")


def translate(transform: Any, chain: Chain, *, in_part: bool = False) -> Chain:
    """Read a transform, or a chain of them, into ``chain``. With ``in_part``, the first without a twin and those after it
    are left in Python, if pixels were moved before it.
    """
    steps = list(_flat(transform))
    for number, step in enumerate(steps):
        moves, finish = len(chain.moves), len(chain.finish)
        try:
            _read(step, chain)
        except Unknown as why:
            if in_part and chain.moves:
                chain.rest = steps[number:]
                chain.words.append(f"{short(step)} -> left in Python: {why}")
                chain.words += [f"{short(left)} -> left in Python" for left in steps[number + 1 :]]
                return chain
            got = f"; native until there: {', '.join(chain.read)}" if chain.read else ""
            raise Unknown(f"the transform {short(step)} is left in Python: {why}{got}") from None
        added = [*chain.moves[moves:], *chain.finish[finish:]]
        chain.read.append(type(step).__name__)
        chain.words.append(f"{short(step)} -> {', '.join(map(repr, added)) or 'no work of its own'}")
    return chain


def _flat(transform: Any) -> Iterator[Any]:
    """Single transforms of nested Compose and Sequential."""
    if transform is None:
        return
    if _is_torchvision(transform, "Compose"):
        check_methods(transform, "torchvision", *METHODS)
        for inner in transform.transforms:
            yield from _flat(inner)
    elif type(transform) is torch.nn.Sequential:
        check_methods(transform, "torch", "forward", "__call__")
        for inner in transform:
            yield from _flat(inner)
    else:
        yield transform


def _is_torchvision(transform: Any, name: str) -> bool:
    kind = type(transform)
    return kind.__name__ == name and kind.__module__.startswith("torchvision.transforms.")


def _read(transform: Any, chain: Chain) -> None:
    kind = type(transform)
    if kind is torch.nn.Identity:
        check_methods(transform, "torch", "forward", "__call__")
        return
    known = TABLE.get(kind.__name__) if kind.__module__.startswith("torchvision.transforms.") else None
    if known is None:
        raise Unknown("infeed does not know it")
    if chain.erased and kind.__name__ not in ("Identity", "ToPureTensor"):
        raise Unknown("it comes after RandomErasing")
    check_methods(transform, "torchvision", *METHODS)
    known(transform, chain)


def _resize(t: Any, chain: Chain) -> None:
    resizing(chain, t)
    if t.size is None:
        raise Unknown("size=None has no native twin")
    size = t.size if isinstance(t.size, int) else list(t.size)
    chain.move("Resize", size=size, interpolation=interpolation(chain, t.interpolation), max_size=t.max_size)


def _center_crop(t: Any, chain: Chain) -> None:
    _plain_zero(chain)
    chain.move("CenterCrop", size=list(t.size))


def _random_crop(t: Any, chain: Chain) -> None:
    _plain_zero(chain)
    padding = t.padding
    if padding is not None and "v2" in type(t).__module__:
        left, right, top, bottom = padding
        padding = [left, top, right, bottom]
    if t.padding_mode != "constant" and (padding is not None or t.pad_if_needed):
        raise Unknown(f"padding_mode={t.padding_mode!r} has no native twin in RandomCrop")
    colour = fill(chain, t)
    chain.move(
        "RandomCrop",
        random=True,
        size=list(t.size),
        padding=_sides(padding),
        pad_if_needed=t.pad_if_needed,
        fill=colour,
    )


def _random_resized_crop(t: Any, chain: Chain) -> None:
    resizing(chain, t)
    how = interpolation(chain, t.interpolation)
    chain.move(
        "RandomResizedCrop",
        random=True,
        size=list(t.size),
        scale=list(t.scale),
        ratio=list(t.ratio),
        interpolation=how,
    )


def _flip(t: Any, chain: Chain) -> None:
    chain.need(Form.PIL, Form.U8, Form.FLOAT)
    chain.move(type(t).__name__, random=0 < t.p < 1, p=t.p)


def _pad(t: Any, chain: Chain) -> None:
    if t.padding_mode == "constant":
        _plain_zero(chain)
    chain.need(Form.PIL, Form.U8, Form.FLOAT)
    chain.move("Pad", padding=_sides(t.padding), fill=fill(chain, t), padding_mode=t.padding_mode)


def _plain_zero(chain: Chain) -> None:
    chain.need(Form.PIL, Form.U8, Form.FLOAT)
    if chain.normalized:
        raise Unknown("it may fill with 0 after Normalize, where 0 is not black")


def _sides(padding: Any) -> Any:
    if padding is None:
        return None
    sides = [padding] if isinstance(padding, int) else list(padding)
    if any(side < 0 for side in sides):
        raise Unknown("negative padding has no native twin")
    return sides


def _to_tensor(t: Any, chain: Chain) -> None:
    chain.need(Form.PIL, Form.NUMPY)
    chain.to_float(scale=True)


def _to_u8(t: Any, chain: Chain) -> None:
    # ToImage also takes tensors and leaves them unchanged.
    if chain.form in (Form.PIL, Form.NUMPY):
        chain.form = Form.U8


def _pil_to_tensor(t: Any, chain: Chain) -> None:
    chain.need(Form.PIL)
    chain.form = Form.U8


def _to_dtype(t: Any, chain: Chain) -> None:
    # v2 leaves PIL images unchanged here, which is rarely intended.
    chain.need(Form.U8, Form.FLOAT)
    if t.dtype == torch.uint8 and chain.form is Form.U8:
        return
    if t.dtype != torch.float32:
        raise Unknown(f"only torch.float32 has a native twin, not {short(t.dtype)}")
    if chain.form is Form.U8:
        chain.to_float(scale=getattr(t, "scale", True))


def _normalize(t: Any, chain: Chain) -> None:
    chain.need(Form.FLOAT)
    mean, std = ([float(x) for x in values] for values in (t.mean, t.std))
    if len(mean) != len(std) or len(mean) not in (1, chain.channels):
        raise Unknown(f"it has {len(mean)} means and {len(std)} deviations for {chain.channels} channels")
    if min(std) <= 0:
        raise Unknown("a standard deviation is not positive")
    chain.finish.append(make("Normalize", mean=mean, std=std))
    chain.normalized = True


def _nothing(t: Any, chain: Chain) -> None:
    return


def _grayscale(t: Any, chain: Chain) -> None:
    chain.need(Form.PIL, Form.U8)
    if chain.channels != 3:
        raise Unknown("the image has one channel already")
    chain.move("Grayscale", num_output_channels=t.num_output_channels)
    chain.channels = t.num_output_channels


def _jitter(t: Any, chain: Chain) -> None:
    if t.hue is not None and chain.form is Form.U8:
        raise Unknown("hue of tensors differs from hue of PIL images by several levels")
    _colours("brightness", "contrast", "saturation", "hue", tensors=True)(t, chain)


def _erasing(t: Any, chain: Chain) -> None:
    chain.need(Form.U8, Form.FLOAT)
    value = "random" if t.value is None else t.value
    step = make("RandomErasing", p=t.p, scale=list(t.scale), ratio=list(t.ratio), value=value)
    chain.finish.append(step)
    chain.erased = chain.random = True


def _preset(t: Any, chain: Chain) -> None:
    """The preset that ``weights.transforms()`` returns for image classification."""
    chain.need(Form.PIL)
    chain.move("Resize", size=list(t.resize_size), interpolation=interpolation(chain, t.interpolation))
    chain.move("CenterCrop", size=list(t.crop_size) * 2 if len(t.crop_size) == 1 else list(t.crop_size))
    chain.to_float(scale=True)
    _normalize(t, chain)


def _colours(*names: str, tensors: bool) -> Callable[[Any, Chain], None]:
    """Transforms that change colours: arguments have the same names in infeed and torchvision."""

    def read(t: Any, chain: Chain) -> None:
        chain.need(*((Form.PIL, Form.U8) if tensors else (Form.PIL,)))
        chain.move(type(t).__name__, random=True, **{name: getattr(t, name) for name in names})

    return read


def _warped(*names: str) -> Callable[[Any, Chain], None]:
    """Transforms that sample between pixels: native twins sample as PIL does."""

    def read(t: Any, chain: Chain) -> None:
        chain.need(Form.PIL)
        args = {name: getattr(t, name) for name in names}
        args["interpolation"] = interpolation(chain, t.interpolation)
        args["fill"] = fill(chain, t)
        if "policy" in args:
            args["policy"] = args["policy"].value
        chain.move(type(t).__name__, random=True, **args)

    return read


TABLE: dict[str, Callable[[Any, Chain], None]] = {
    "Resize": _resize,
    "CenterCrop": _center_crop,
    "RandomCrop": _random_crop,
    "RandomResizedCrop": _random_resized_crop,
    "RandomHorizontalFlip": _flip,
    "RandomVerticalFlip": _flip,
    "Pad": _pad,
    "ToTensor": _to_tensor,
    "PILToTensor": _pil_to_tensor,
    "ToImage": _to_u8,
    "ToDtype": _to_dtype,
    "ConvertImageDtype": _to_dtype,
    "Normalize": _normalize,
    "ToPureTensor": _nothing,
    "Identity": _nothing,
    "ImageClassification": _preset,
    "Grayscale": _grayscale,
    "RandomErasing": _erasing,
    "RandomGrayscale": _colours("p", tensors=True),
    "ColorJitter": _jitter,
    "GaussianBlur": _colours("kernel_size", "sigma", tensors=True),
    "RandomPosterize": _colours("bits", "p", tensors=True),
    "RandomSolarize": _colours("threshold", "p", tensors=True),
    "RandomAdjustSharpness": _colours("sharpness_factor", "p", tensors=False),
    "RandomAutocontrast": _colours("p", tensors=False),
    "RandomEqualize": _colours("p", tensors=False),
    "RandomRotation": _warped("degrees", "expand", "center"),
    "RandomAffine": _warped("degrees", "translate", "scale", "shear", "center"),
    "RandomPerspective": _warped("distortion_scale", "p"),
    "RandAugment": _warped("num_ops", "magnitude", "num_magnitude_bins"),
    "TrivialAugmentWide": _warped("num_magnitude_bins"),
    "AutoAugment": _warped("policy"),
}
