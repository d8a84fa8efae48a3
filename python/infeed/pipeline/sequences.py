"""The stages that make sequences of tokens: tokenise, pack, windows, masking."""

from __future__ import annotations

from typing import Any, Self, Unpack

from .. import transforms as T
from .._typing import IntegerDtype, LongDocuments, PackMode, Rest, one_of
from ..recipes import whole
from ..tokenizer_files import Tokenizer, tokenizer_path
from .options import MaskOptions, SpanOptions, TokenizeOptions
from .samples import SampleStages
from .token_names import Tokens


class SequenceStages(SampleStages):
    """What :class:`~infeed.Pipeline` does with documents and tokens."""

    def tokenize(
        self,
        tokenizer: Tokenizer,
        *,
        on: str = "text",
        to: str = "tokens",
        keep: bool = False,
        **options: Unpack[TokenizeOptions],
    ) -> Self:
        """Turn the text ``on`` into the token ids ``to``, with a ``tokenizer.json`` of Hugging Face tokenizers.

        ``tokenizer`` is the path of that file, a ``tokenizers.Tokenizer``, or a fast tokenizer of transformers. An object
        is written to the cache folder (``$INFEED_CACHE``, or ``~/.cache/infeed``), under a name made of its contents, and
        the recipe has that path.

        The same as :class:`infeed.transforms.Tokenize`, with the same options, on a copy of the field; ``keep`` keeps
        the text.
        """
        out = self if to == on else self._then(op="copy", field=on, to=[to], keep=bool(keep))
        return out.map(T.Tokenize(tokenizer_path(tokenizer), **options), on=to)

    def pack(
        self,
        length: int,
        *,
        on: str = "tokens",
        mode: PackMode = "concat",
        eod: int | str | None = None,
        pad: int | str = 0,
        long: LongDocuments = "split",
        rest: Rest = "drop",
        group: int | None = None,
        dtype: IntegerDtype = "int64",
        labels: bool = False,
        segment_ids: bool = False,
        position_ids: bool = False,
        cu_seqlens: bool = False,
    ) -> Self:
        """Pack documents into sequences of ``length`` tokens. The result is a stream of sequences.

        ``mode`` is

        * ``"concat"``: all documents end to end, split every ``length`` tokens. ``rest`` says what to do with the last
          tokens of an epoch, ``"drop"`` or ``"pad"``
        * ``"first_fit"``, ``"best_fit"``: documents stay whole; ``group`` documents at a time (1,024 by default) are
          placed, the longest first, into the first or the fullest sequence that has room. ``long`` says what to do with
          documents that are longer than a sequence: ``"split"``, ``"truncate"`` or ``"drop"``

        ``eod`` is a token to append to every document, ``pad`` the token that pads sequences: numbers, or names of the
        tokenizer that made the tokens. Further fields:
        ``labels`` (the next token, as int64; -100 where there is none), ``segment_ids`` (1, 2, ... for the documents of a
        sequence, 0 for padding), ``position_ids`` (counted within each document) and ``cu_seqlens`` (where documents
        begin and end, for variable-length attention kernels).

        Shuffle before this stage: it is documents that are shuffled. :meth:`~infeed.Loader.state_dict` records where in
        the documents the next sequence begins, so that resuming does not tokenise earlier documents again. Every rank
        reads all documents and takes its share of the sequences: with many ranks, write tokens once with
        ``infeed tokenize`` and use :func:`infeed.tokens`.
        """
        one_of("mode", mode, PackMode)
        one_of("long", long, LongDocuments)
        stage: dict[str, Any] = {"mode": mode, "long": long}
        if group is not None:
            stage["group"] = whole("group", group)
        return self._packed(
            length, on, eod, pad, rest, dtype, labels, segment_ids, position_ids, cu_seqlens=cu_seqlens, **stage
        )

    def windows(
        self,
        length: int,
        *,
        stride: int | None = None,
        on: str = "tokens",
        eod: int | str | None = None,
        pad: int | str = 0,
        rest: Rest = "pad",
        dtype: IntegerDtype = "int64",
        labels: bool = False,
        segment_ids: bool = False,
        position_ids: bool = False,
    ) -> Self:
        """Split every document into windows of ``length`` tokens, one every ``stride`` tokens (default: ``length``).

        ``rest`` says what to do with a last window that is not full: ``"pad"`` or ``"drop"``. The other arguments are
        those of :meth:`pack`, and the result is a stream, too.
        """
        stage: dict[str, Any] = {"mode": "windows"}
        if stride is not None:
            stage["stride"] = whole("stride", stride)
        return self._packed(length, on, eod, pad, rest, dtype, labels, segment_ids, position_ids, **stage)

    def _packed(
        self,
        length: int,
        on: str,
        eod: int | str | None,
        pad: int | str,
        rest: Rest,
        dtype: IntegerDtype,
        labels: bool,
        segment_ids: bool,
        position_ids: bool,
        **stage: Any,
    ) -> Self:
        one_of("rest", rest, Rest)
        tokens = Tokens(self.recipe)
        if eod is not None:
            stage["eod"] = tokens.number("eod", eod)
        return self._then(
            op="pack",
            on=on,
            length=whole("length", length),
            pad=tokens.number("pad", pad),
            rest=rest,
            dtype=str(dtype),
            labels=bool(labels),
            segment_ids=bool(segment_ids),
            position_ids=bool(position_ids),
            **stage,
        )

    def mask_tokens(self, *, on: str = "tokens", labels: str = "labels", **options: Unpack[MaskOptions]) -> Self:
        """Mask tokens for masked language modelling: ``on`` becomes the input, ``labels`` the original tokens.

        The labels are int64, as torch's ``cross_entropy`` wants them, and ``ignore`` (-100) where tokens are not chosen
        and where ``batch(..., ragged="pad")`` pads them. The options are those of :class:`infeed.transforms.MaskTokens`.

        After :meth:`tokenize`, ``mask`` and ``special`` may be names, ``mask="<mask>"``, and ``vocab`` may be left out.
        """
        given: dict[str, Any] = {**options}
        tokens = Tokens(self.recipe)
        if "mask" in options:
            given["mask"] = tokens.number("mask", options["mask"])
        if "special" in options:
            given["special"] = [tokens.number("special", token) for token in options["special"]]
        if "vocab" not in options:
            given["vocab"] = tokens.count("vocab")
        out = self._then(op="copy", field=on, to=[labels], keep=True)
        return out.map(T.MaskTokens(**given), on=[on, labels])

    def corrupt_spans(self, *, on: str = "tokens", targets: str = "targets", **options: Unpack[SpanOptions]) -> Self:
        """Replace spans by sentinels, as in T5: ``on`` becomes the input, ``targets`` what was replaced.

        The targets are int64, and ``batch(..., ragged="pad")`` pads them with -100. The options are those of
        :class:`infeed.transforms.CorruptSpans`; after :meth:`tokenize`, ``sentinel_start`` and ``eos`` may be names.
        """
        given: dict[str, Any] = {**options}
        tokens = Tokens(self.recipe)
        for name in ("sentinel_start", "eos"):
            if given.get(name) is not None:
                given[name] = tokens.number(name, given[name])
        out = self._then(op="copy", field=on, to=[targets], keep=True)
        return out.map(T.CorruptSpans(**given), on=[on, targets])

    def lengths(self, *, on: str = "tokens", to: str = "length") -> Self:
        """Add the number of elements of ``on`` as the field ``to``: elements from there on are padding."""
        out = self._then(op="copy", field=on, to=[to], keep=True)
        return out.map(T.Length(), on=to)
