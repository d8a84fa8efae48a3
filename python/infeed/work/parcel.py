"""Sends the dataset and the functions to workers, with large read-only parts in one shared file."""

from __future__ import annotations

import io
import os
import pickle
import types
from multiprocessing import context as contexts
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from . import tensors
from .arena import address_of
from .lists import SharedList
from .share import LONG, Packed, SharedFile, pack, unpack

_DEPTH = 6
_FEW = 64
"""Containers with more entries are not searched for long lists."""
_MANY = 10_000
"""At most this many objects are searched in total."""
_LARGE = 4096
"""Arrays below this many bytes stay inside the pickle."""

_kept: list[Any] = []
"""Lists that were replaced. Freeing one would touch all of its entries, and so copy all of their pages."""


class Parcel:
    """An object to be sent to the workers. The object itself is not changed in the consumer's process.

    Under fork the worker's copy gets a :class:`~infeed.work.SharedList` in place of every long list. Under spawn the
    object is pickled for each worker, and the lists and arrays in it point into one file that all workers map.
    """

    def __init__(self, content: Any, *, share: bool = True) -> None:
        self._content = content
        self._file: SharedFile | None = None
        self._lists: dict[int, Packed] = {}
        self._empty: dict[int, SharedList] = {}
        self._places: list[tuple[Any, Any, list[Any]]] = []
        self._arrays: dict[tuple[int, int], tuple[tuple[int, int], Any]] = {}
        self._pid = os.getpid()
        if share:
            _search(content, self._places)
            self._pack_lists()

    def _pack_lists(self) -> None:
        known: dict[int, Packed | None] = {}
        places = []
        for container, key, values in self._places:
            if id(values) not in known:
                known[id(values)] = pack(values, self._shared())
            if known[id(values)] is not None:
                places.append((container, key, values))
        self._places = places
        self._lists = {number: packed for number, packed in known.items() if packed is not None}
        # Made here, so that forked workers share the memory of the list objects, too: a pointer per entry.
        self._empty = {number: SharedList(packed[1]) for number, packed in self._lists.items()}

    def _shared(self) -> SharedFile:
        if self._file is None:
            self._file = SharedFile()
        return self._file

    def open(self) -> Any:
        """The content, in a forked worker."""
        if self._lists:
            memory = self._shared().map()
            shared = {number: unpack(packed, memory, self._empty[number]) for number, packed in self._lists.items()}
            # Freeing one would copy its pages.
            _kept.extend(shared.values())
            for container, key, values in self._places:
                _kept.append(values)
                container[key] = shared[id(values)]
        return self._content

    def close(self) -> None:
        """Release the shared file, once all workers have started."""
        if self._pid == os.getpid():
            if self._file is not None:
                self._file.close()
            self._arrays.clear()
            self._places.clear()
            self._empty.clear()
            self._content = None

    def __reduce__(self) -> Any:
        # Called while a worker is spawned: locks and queues inside the content may be pickled only then.
        contexts.assert_spawning(self)
        blocks: list[tuple[int, int]] = []

        def add(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes < _LARGE:
                return True
            key = (address_of(raw), raw.nbytes)
            if key not in self._arrays:
                # The buffer is kept alive, so that no other array can get its address.
                self._arrays[key] = (self._shared().put(raw), buffer)
            blocks.append(self._arrays[key][0])
            return False

        data = io.BytesIO()
        _Pickler(data, add, self._lists).dump(self._content)
        file = self._shared()
        return _opened, (data.getvalue(), blocks, list(self._lists.items()), DupFd(file.fd), file.size)


class _Pickler(ForkingPickler):
    def __init__(self, file: io.BytesIO, add: Any, lists: dict[int, Packed]) -> None:
        super().__init__(file, 5, True, add)
        self._lists = lists

    def persistent_id(self, obj: Any) -> int | None:
        return id(obj) if type(obj) is list and id(obj) in self._lists else None

    def reducer_override(self, obj: Any) -> Any:
        # A tensor that the user has put into shared memory must stay shared: torch pickles it that way.
        if tensors.is_tensor(obj) and not obj.is_shared():
            return tensors.reduce(obj, lambda nbytes: memoryview(bytearray(nbytes)))
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    lists: dict[int, Any]

    def persistent_load(self, number: int) -> Any:
        return self.lists[number]


class Opened:
    """An unpickled parcel."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def open(self) -> Any:
        """The content."""
        return self._content


def _opened(data: bytes, blocks: list[tuple[int, int]], lists: list[Any], handle: Any, size: int) -> Opened:
    file = SharedFile(handle.detach(), size)
    memory = file.map()
    file.close()
    views = [memory[at : at + nbytes] for at, nbytes in blocks]
    loader = _Unpickler(io.BytesIO(data), buffers=views)
    loader.lists = {number: unpack(packed, memory) for number, packed in lists}
    return Opened(loader.load())


def _search(root: Any, places: list[tuple[Any, Any, list[Any]]]) -> None:
    """Find long lists in the attributes of an object, recursively: (container, key, list)."""
    seen: set[int] = set()
    layer: list[Any] = [root]
    for _ in range(_DEPTH):
        below: list[Any] = []
        for obj in layer:
            for container, entries in _parts(obj):
                for key, value in entries:
                    if type(value) is list and len(value) >= LONG:
                        if container is not None:
                            places.append((container, key, value))
                    elif id(value) not in seen and len(seen) < _MANY:
                        seen.add(id(value))
                        if issubclass(type(value), dict | list | tuple) or _state(value) is not None:
                            below.append(value)
        layer = below


def _parts(obj: Any) -> list[tuple[Any, list[tuple[Any, Any]]]]:
    """The entries of an object, with the container in which they can be replaced (None: they cannot)."""
    out: list[tuple[Any, list[tuple[Any, Any]]]] = []
    if type(obj) is dict and len(obj) <= _FEW:
        out.append((obj, list(obj.items())))
    elif type(obj) is list and len(obj) <= _FEW:
        out.append((obj, list(enumerate(obj))))
    elif issubclass(type(obj), tuple) and len(obj) <= _FEW:
        out.append((None, list(enumerate(obj))))
    state = _state(obj)
    if state is not None and not issubclass(type(obj), type) and type(obj).__module__ != "builtins":
        out.append((state, list(state.items())))
    if type(obj) is types.MethodType and _state(obj.__self__) is not None:
        out.append((None, [(None, obj.__self__)]))
    return out


def _state(obj: Any) -> dict[str, Any] | None:
    """The attributes of an object. Looks past ``__getattr__``: that may open files, or raise anything."""
    try:
        state = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None
    return state if type(state) is dict else None
