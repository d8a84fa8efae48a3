"""The stages that make batches, and those that work on whole batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from .._typing import LastBatch, Ragged, one_of
from ..functions import Function
from ..functions.adapt import refuse_class
from ..recipes import names, whole
from ..transforms import BatchTransform, Transform
from .description import Description
from .ragged import ragged_stage


class BatchStages(Description):
    """What :class:`~infeed.Pipeline` does with batches."""

    def batch(
        self,
        size: int | None = None,
        *,
        global_size: int | None = None,
        drop_last: bool = False,
        last: LastBatch = "short",
        ragged: Ragged | Mapping[str, Ragged] = "list",
        pad_value: float | Mapping[str, float] = 0,
        pad_mask: bool | str | Mapping[str, str] = False,
        pad_multiple: int | None = None,
        pad_length: int | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> Self:
        """Make batches of ``size`` samples on every rank, or of ``global_size`` samples over all ranks together.

        ``last`` says what happens to remaining rows that do not fill a batch: ``"short"`` (a smaller batch, shared evenly
        by the ranks), ``"drop"`` (the same as ``drop_last=True``) or ``"pad"`` (filled up with rows from the epoch's
        start, which are marked in ``batch["__pad__"]``). Every rank has the same number of steps in each case.

        Fields of one shape become one array. For arrays whose shape varies, ``ragged`` says what they become; a dict
        says it for single fields, and the others are lists:

        * ``"list"``: a list of arrays
        * ``"pad"``: one array in which each sample is padded at its end, to the longest of the batch, to a multiple of
          ``pad_multiple``, or to ``pad_length``. ``pad_value`` is what it is padded with: a number, or a dict of numbers
          by field. Labels that :meth:`mask_tokens` and :meth:`corrupt_spans` make are padded with the value that losses
          ignore (-100), unless the dict names them
        * ``"flat"``: one array of all samples end to end, and ``<field>_offsets`` (int64, one more than samples): sample
          ``i`` is ``batch["boxes"][offsets[i] : offsets[i + 1]]``. Text, bytes, JSON and images stay lists

        ``pad_mask=True`` adds ``<field>_mask`` for every padded field: bool, true where data is. A dict of names by field
        does so for those fields; a single name is for the only padded field, or for the tokens if the others are
        labels: ``pad_mask="attention_mask"``. The mask is ``[batch, length]``, or has the shape of the padded array if
        more than the first axis varies.

        ``collate`` is a Python function that is called instead, to make a batch from a list of samples.
        """
        one_of("last", last, LastBatch)
        if drop_last and last == "pad":
            raise ValueError('drop_last=True and last="pad" contradict each other')
        if (size is None) == (global_size is None):
            raise ValueError("batch takes either size (per rank) or global_size (over all ranks)")
        stage: dict[str, Any] = {}
        if size is not None:
            stage["size"] = whole("batch size", size)
        if global_size is not None:
            stage["global_size"] = whole("global_size", global_size)
        layout = ragged_stage(
            ragged,
            pad_value,
            pad_mask,
            pad_multiple=pad_multiple,
            pad_length=pad_length,
            collates=collate is not None,
        )
        out = self._then(op="batch", **stage, last="drop" if drop_last else last, **layout)
        if collate is None:
            return out
        if not callable(collate):
            raise TypeError(f"collate takes a function, got {collate!r}")
        return type(self)(out.recipe, self._given, self._functions, collate)

    def map_batch(
        self,
        *transforms: BatchTransform | Callable[..., Any],
        on: str | Iterable[str] | None = None,
        seeded: bool = True,
    ) -> Self:
        """Apply transforms to whole batches, after :meth:`batch`: ``MixUp``, ``CutMix``, ``RandomMix``, or functions.

        ``on`` names the fields; without it transforms apply to every image, and functions take and return the whole
        batch. The labels of a mixed batch become class probabilities, ``float32[batch, num_classes]``. Each batch is
        mixed by the thread that finishes it; its random choices depend on (seed, epoch, first row of the batch), and so
        does the generator that a function with a parameter ``rng`` gets. Functions run where those of :meth:`map` run.
        """
        if not transforms:
            raise ValueError("map_batch needs at least one transform or function")
        fields = names(on)
        out = self
        for transform in transforms:
            refuse_class("map_batch", transform)
            if isinstance(transform, BatchTransform):
                if out._runs_python:
                    raise ValueError(
                        f"{transform.name} works on what infeed makes: put it before Python functions, or use"
                        " to_torch(on_device=[...])"
                    )
                out = out._then(op="map_batch", name=transform.name, on=list(fields), args=transform.args)
            elif isinstance(transform, Transform):
                raise TypeError(f"{transform.name} works on samples: use map({transform!r}) before batch()")
            elif callable(transform):
                out = out._call(Function("map_batch", transform, fields, seeded, len(out._functions)))
            else:
                raise TypeError(f"map_batch takes batch transforms and functions, got {transform!r}")
        return out

    def to_tuple(self, *fields: str) -> Self:
        """Hand batches out as tuples of these fields instead of dicts; other fields are not read."""
        if self._runs_python:
            return self._call(Function("tuple", fields))
        return self._then(op="tuple", fields=list(fields))
