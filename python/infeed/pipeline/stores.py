"""How stores are reached that are not on this machine."""

from __future__ import annotations

import os
from typing import Any, Self, TypedDict, Unpack

from .description import Description


class StoreOptions(TypedDict, total=False):
    """The options of :meth:`~infeed.Pipeline.with_store`."""

    endpoint: str
    region: str
    profile: str
    anonymous: bool
    path_style: bool
    proxy: str
    ca_file: str | os.PathLike[str]
    deadline: float
    requests: int
    ahead: int
    hedge: bool


class Reaches(Description):
    """What :class:`~infeed.Pipeline` says about stores."""

    def with_store(self, **options: Unpack[StoreOptions]) -> Self:
        """Say how the remote stores of this pipeline are reached. Options that are not given are found as usual.

        * ``endpoint``: the address of the service, for others than the provider's own (``"http://127.0.0.1:9000"``)
        * ``region``: the region of the bucket
        * ``profile``: a profile in the files of the AWS command
        * ``anonymous``: read public data without credentials
        * ``path_style``: whether the bucket is in the path of a URL (the default) and not in its host
        * ``proxy``: the address of an HTTP proxy; ``ca_file``: a file with certificates to trust
        * ``deadline``: seconds without progress after which a request, with all its tries, is an error (60)
        * ``requests``: the most requests at a time (256); ``ahead``: bytes that may lie in memory for later (512 MiB)
        * ``hedge``: whether a request that is late is sent a second time (``True``)

        Secrets are no options: a recipe can be seen by others. They come from the environment (``AWS_ACCESS_KEY_ID``,
        ``GOOGLE_APPLICATION_CREDENTIALS``, ``AZURE_STORAGE_ACCOUNT_KEY``, ``HF_TOKEN``), from profiles and from the
        machine.
        """
        plain: dict[str, Any] = {
            name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()
        }
        recipe = self.recipe
        for source in _sources(recipe):
            if source.get("paths"):
                source["store"] = {**source.get("store", {}), **plain}
        return type(self)(recipe, self._given, self._functions, self._collate)

    def with_cache(self, folder: str | os.PathLike[str], *, limit: int | str | None = None) -> Self:
        """Keep what is read in a folder of this machine, so that the next epoch and the next run need not fetch it again.

        ``folder`` is shared by all processes of the machine: each byte is fetched once, by one of them. ``"memory"``
        keeps the bytes in memory that processes share (``/dev/shm``), until the last of them ends. ``limit`` is the most
        that all together may take, in bytes or as ``"500GB"``; without it most of the free space is used.

        A cache never changes what comes out. A folder that is full or read-only turns it off, and the epoch goes on.
        ``infeed cache ls``, ``verify`` and ``clean`` look after it.
        """
        from ..doors.memory import in_bytes

        recipe = self.recipe
        for source in _sources(recipe):
            if source.get("paths"):
                source["cache"] = os.fspath(folder)
                if limit is not None:
                    source["cache_limit"] = in_bytes(limit, "limit")
        return type(self)(recipe, self._given, self._functions, self._collate)


def _sources(recipe: dict[str, Any]) -> list[dict[str, Any]]:
    """The sources of a recipe and of its parts."""
    source = recipe["source"]
    return [source, *(inner for part in source.get("part", ()) for inner in _sources(part))]
