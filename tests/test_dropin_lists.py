"""Long lists of a data set in the workers of both loaders: whatever is done with them."""

from __future__ import annotations

import bisect
import copy
import json
import operator
import pickle
import random
from collections.abc import Sequence

import numpy as np
import pytest
from loaders import DataLoader, theirs, torch

pytestmark = [
    # A test that hangs fails; nothing else depends on time.
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def deal(values):
    """Everything that a list can do: a name and a function of the list. What it returns and leaves behind is compared."""
    rng = random.Random(3)
    return {
        "shuffle": lambda x: rng.shuffle(x),
        "sample": lambda x: random.Random(1).sample(x, 5),
        "append": lambda x: x.append("new"),
        "extend": lambda x: x.extend(["a", "b"]),
        "extend by itself": lambda x: x.extend(x),
        "insert": lambda x: x.insert(3, "new"),
        "pop": lambda x: (x.pop(), x.pop(0)),
        "remove": lambda x: x.remove(values[7]),
        "clear": lambda x: x.clear(),
        "sort": lambda x: x.sort(reverse=True),
        "sort by key": lambda x: x.sort(key=lambda v: v[::-1]),
        "reverse": lambda x: x.reverse(),
        "set item": lambda x: x.__setitem__(5, "new"),
        "set slice": lambda x: x.__setitem__(slice(2, 9), ["a"]),
        "delete item": lambda x: x.__delitem__(-1),
        "delete slice": lambda x: x.__delitem__(slice(None, None, 2)),
        "add in place": lambda x: operator.iadd(x, ["a"]) is x,
        "multiply in place": lambda x: operator.imul(x, 2) is x,
        "append in a loop": lambda x: [x.append("y") for v, _ in zip(x, range(3), strict=False)],
        "grow while it is read": lambda x: [x.append(v) if len(x) < 10_505 else v for v in x],
        "copy": lambda x: (x.copy(), copy.copy(x), copy.deepcopy(x), type(copy.copy(x)).__name__),
        "pickle": lambda x: [pickle.loads(pickle.dumps(x, protocol)) for protocol in range(2, 6)],
        "pickled type": lambda x: type(pickle.loads(pickle.dumps(x))).__name__,
        "concatenate": lambda x: (operator.add(x, ["a"]), operator.add(["a"], x), x * 2, 2 * x),
        "compare": lambda x: (
            x == values,
            values == x,
            x != values,
            x < values[1:],
            values[1:] > x,
            x <= x,
            x >= ["z"],
        ),
        "other types": lambda x: (x == tuple(values), x == 3, x != None),  # noqa: E711
        "count": lambda x: (x.count(values[3]), x.index(values[9]), x.index(values[9], 2, 20), "z" in x),
        "iterate": lambda x: ([*x], tuple(x), sorted(x), set(x), list(reversed(x)), max(x), ",".join(x)),
        "slices": lambda x: (x[5:2], x[::-1], x[-3:], x[1:100:7], x[:]),
        "json": lambda x: json.dumps(x),
        "repr": lambda x: (repr(x), str(x), f"{x}"),
        "match": lambda x: first_of(x),
        "numpy": lambda x: np.array(x).tolist(),
        "bisect": lambda x: bisect.bisect(x, "p"),
        "isinstance": lambda x: (isinstance(x, list), isinstance(x, Sequence), issubclass(type(x), list), bool(x)),
        "errors": lambda x: [
            error_of(f, x) for f in (hash, lambda v: v["a"], lambda v: v[99_999], lambda v: operator.add(v, (1,)))
        ],
        "missing": lambda x: [error_of(f, x) for f in (lambda v: v.remove("?"), lambda v: v.index("?"))],
    }


def first_of(values):
    match values:
        case [first, *_]:
            return first


def error_of(function, values):
    try:
        return function(values)
    except Exception as error:
        return type(error).__name__


class Deals(theirs.Dataset):
    """One sample, with a long list of its own, for each thing that can be done with a list."""

    def __init__(self):
        self.plain = tuple(f"path/{i % 977:05d}/{i}" for i in range(10_500))
        self.lists = {name: list(self.plain) for name in deal([])}

    def __len__(self):
        return len(self.lists)

    def __getitem__(self, i):
        name, values = list(self.lists.items())[i]
        before = type(values).__name__
        found = deal(list(self.plain))[name](values)
        return name, before, found, list(values), len(values)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_do_with_long_lists_what_they_do_with_torch(method):
    options = {"batch_size": None, "num_workers": 1, "multiprocessing_context": method}
    want = list(theirs.DataLoader(Deals(), **options))
    data = Deals()
    got = list(DataLoader(data, **options))
    for (name, kind, *theirs_found), (_, shared, *found) in zip(want, got, strict=True):
        assert (kind, shared) == ("list", "SharedList")
        assert found == theirs_found, name
    assert all(len(values) == 10_500 for values in data.lists.values()), "the consumer's lists are not touched"


class Shuffled(theirs.IterableDataset):
    def __init__(self):
        self.files = [f"f{i}" for i in range(10_000)]

    def __iter__(self):
        random.shuffle(self.files)
        yield from self.files[:20]


def test_an_iterable_data_set_that_shuffles_its_files():
    found = []
    for loader in (theirs.DataLoader, DataLoader):
        torch.manual_seed(5)
        found.append([[*loader(Shuffled(), num_workers=2, batch_size=None)] for _ in range(2)])
    assert found[0] == found[1] and found[0][0] != found[0][1]
