"""Generic loaders, data sets with unusual attributes, and arrays that a program writes to: as with torch's DataLoader."""

from __future__ import annotations

import os
import typing
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sidebyside import LOADERS, same  # noqa: E402
from torch.utils.data import Dataset, TensorDataset  # noqa: E402

import infeed.torch  # noqa: E402

T = TypeVar("T")


def test_loaders_are_generic() -> None:
    for kind in LOADERS:

        class Mine(kind[T], Generic[T]):  # type: ignore[misc,valid-type]
            extra = 1

        assert typing.get_origin(kind[int]) is kind
        data = TensorDataset(torch.arange(4))
        for loader in (Mine(data, batch_size=2), Mine[int](data, batch_size=2), kind[int](data, batch_size=2)):
            assert [batch[0].tolist() for batch in loader] == [[0, 1], [2, 3]]
        assert isinstance(Mine(data), kind)
    assert issubclass(infeed.torch.DataLoader, torch.utils.data.DataLoader)


class Config(dict[str, Any]):
    """Attributes are entries."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class Raising:
    """Knows no attribute but its own."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")

    def __reduce__(self) -> Any:
        return Raising, (self.value,)


class Holding(Dataset[Any]):
    """A data set that holds such objects, and is one itself."""

    def __init__(self) -> None:
        self.config = Config(size=4, inner=Config(size=2))
        self.raising = [Raising(3), (Raising(5),)]

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index * self.config.size * self.raising[0].value

    def __getattr__(self, name: str) -> Any:
        if name == "__getitems__":
            raise AttributeError(name)
        raise KeyError(name)


@pytest.mark.parametrize("workers", [0, 1])
def test_attributes_that_raise_are_not_asked_for(workers: int) -> None:
    found = same(lambda D: D(Holding(), num_workers=workers))
    assert [int(batch) for batch in found] == [0, 12, 24, 36]


class Lazy:
    """Opens its file when it is first used, so that each worker has a handle of its own."""

    def __init__(self, path: str, log: str) -> None:
        self.path, self.log = path, log

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # torch asks for nothing either.
            Path(self.log).write_text(f"{os.getpid()} {name}")
            raise AttributeError(name)
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()} {name}\n")
        self.__dict__["handle"] = open(self.path, "rb")  # noqa: SIM115
        return getattr(self.handle, name)


class Reading(Dataset[Any]):
    def __init__(self, path: str, log: str) -> None:
        self.file = Lazy(path, log)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        return int(self.file.read(1)[0])


def test_lazy_handles_are_opened_in_workers_only(tmp_path: Path) -> None:
    for kind in LOADERS:
        log = tmp_path / kind.__module__
        loader = kind(Reading("/dev/zero", str(log)), num_workers=1, multiprocessing_context="fork")
        assert [int(batch) for batch in loader] == [0, 0]
        lines = log.read_text().splitlines()
        assert lines and all(int(line.split()[0]) != os.getpid() for line in lines), lines
        assert all(line.endswith(" read") for line in lines)


class ReadOnly(Dataset[Any]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        made = []
        for shape in ((64, 64, 3), (3,), (0,)):
            array = np.full(shape, index, np.uint8)
            array.flags.writeable = False
            made.append(array)
        return [*made, made[0][::2, ::2], made[0].T, np.float32(3), np.array([None, "x"], dtype=object)]


def keep(samples: Any) -> Any:
    return samples


@pytest.mark.parametrize("workers", [1, 2])
def test_arrays_of_workers_may_be_written_to(workers: int) -> None:
    for kind in LOADERS:
        for number, (sample,) in enumerate(kind(ReadOnly(), num_workers=workers, collate_fn=keep)):
            for array in sample[:5]:
                assert array.flags.writeable
                assert (array == number).all()
                array[...] = 7
            assert sample[0].shape == (64, 64, 3) and (sample[0] == 7).all()
    same(lambda D: D(ReadOnly(), num_workers=workers, collate_fn=keep))
