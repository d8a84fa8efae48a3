"""A chain of transforms as it is translated: the native steps so far, and the form of the sample after them."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from ... import transforms as T
from .words import Unknown


class Form(enum.Enum):
    """The form of a sample's image at some point of a chain of torchvision's transforms."""

    PIL = "a PIL image"
    NUMPY = "a NumPy array"
    U8 = "a tensor of whole numbers"
    FLOAT = "a tensor of floats"


@dataclasses.dataclass
class Chain:
    """Native steps that are equivalent to the transforms read so far.

    Steps that move pixels are in ``moves``, steps that change values in ``finish``: steps on floats that do not mix
    pixels (mirror, crop) give the same values when they are applied to the u8 pixels first.
    """

    form: Form
    channels: int = 3
    normalized: bool = False
    erased: bool = False
    random: bool = False
    moves: list[T.Transform] = dataclasses.field(default_factory=list)
    finish: list[T.Transform] = dataclasses.field(default_factory=list)
    read: list[str] = dataclasses.field(default_factory=list)
    words: list[str] = dataclasses.field(default_factory=list)
    #: Transforms after the last one that has a native twin.
    rest: list[Any] = dataclasses.field(default_factory=list)

    @property
    def steps(self) -> list[T.Transform]:
        """All steps in native order."""
        layout = [make("ToCHW")] if self.is_tensor else []
        return [*self.moves, *layout, *self.finish]

    @property
    def is_tensor(self) -> bool:
        """Whether samples are tensors at this point."""
        return self.form in (Form.U8, Form.FLOAT)

    def move(self, name: str, *, random: bool = False, **args: Any) -> None:
        """Add a step on pixels."""
        self.moves.append(make(name, **args))
        self.random |= random

    def need(self, *forms: Form) -> None:
        """Refuse a transform unless the image has one of these forms at this point."""
        if self.form not in forms:
            wanted = " or ".join(form.value for form in forms)
            raise Unknown(
                f"it meets {self.form.value}, and its native twin stands for what torchvision does to {wanted}"
            )

    def to_float(self, scale: bool) -> None:
        """Add the conversion from integers to floats."""
        self.finish.append(make("ToDtype", dtype="f32", scale=scale))
        self.form = Form.FLOAT


def make(name: str, **args: Any) -> T.Transform:
    """A native transform by name; arguments that are None keep their default."""
    if name not in T.__all__:
        raise Unknown(f"infeed has no {name}")
    given = {key: value for key, value in args.items() if value is not None}
    try:
        made: T.Transform = getattr(T, name)(**given)
    except TypeError as error:
        raise Unknown(f"infeed's {name} takes other arguments: {error}") from None
    return made


# Pillow's numbers for filters, which torchvision accepts, too.
PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def interpolation(chain: Chain, given: Any) -> str:
    """The name of a filter. Tensors support fewer than PIL images, and their "nearest" picks other pixels."""
    name = PILLOW.get(given) if isinstance(given, int) else str(getattr(given, "value", given))
    known = {"bilinear", "bicubic"}
    if chain.form is Form.PIL:
        known |= {"nearest", "nearest-exact", "box", "hamming", "lanczos"}
    if name is None or name not in known:
        raise Unknown(f"interpolation {given!r} on {chain.form.value} has no native twin")
    return "nearest" if name == "nearest-exact" else name


def resizing(chain: Chain, transform: Any) -> None:
    """Refuse a resize that is not Pillow's."""
    chain.need(Form.PIL, Form.U8)
    if chain.form is Form.U8 and transform.antialias is not True:
        raise Unknown("antialias must be True for tensors")


def fill(chain: Chain, transform: Any) -> Any:
    """The colour of pixels outside the image: one integer, or one per channel; None when not given."""
    given = transform.fill
    if given is None:
        return None
    if isinstance(given, dict):
        raise Unknown("fill by type has no native twin")
    numbers = [given] if isinstance(given, int | float) else list(given)
    if len(numbers) not in (1, chain.channels):
        raise Unknown(f"fill has {len(numbers)} numbers for {chain.channels} channels")
    if any(number != int(number) or not 0 <= number <= 255 for number in numbers):
        raise Unknown(f"fill={given!r} is not a whole number of 0..255")
    whole = [int(number) for number in numbers]
    if any(whole) and chain.form is Form.FLOAT:
        raise Unknown("a fill other than 0 on floats has no native twin")
    return whole[0] if len(whole) == 1 else whole
