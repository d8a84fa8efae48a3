"""Data sets of Hugging Face, opened as they are."""

from __future__ import annotations

import io

import numpy as np
import pytest
from in_hand import COLUMNS, as_rows, rows

import infeed


def hugging_face():
    datasets = pytest.importorskip("datasets")
    return datasets, datasets.Dataset.from_dict({**COLUMNS, "v": [[i, i + 1] for i in range(5)]})


def test_data_sets_of_hugging_face():
    datasets, data = hugging_face()
    want = as_rows({**COLUMNS, "v": [[i, i + 1] for i in range(5)]})
    for opened in (infeed.open, infeed.arrays):
        assert rows(opened(data)) == want
    # Samples by index are collated as any sample: a list is a structure.
    assert [r["text"] for r in rows(infeed.wrap(data))] == COLUMNS["text"]
    assert "its columns, used where they lie" in infeed.open(data).explain()
    assert "by data[row]" in infeed.wrap(data).explain()
    # Rows that were chosen or shuffled there, and columns of a format.
    for chosen in (
        data.shuffle(seed=7),
        data.select([4, 0]),
        data.select(range(1, 4)),
        data.filter(lambda r: r["x"] > 2),
    ):
        assert rows(infeed.open(chosen)) == list(chosen)
    both = datasets.concatenate_datasets([data, data])
    assert rows(infeed.open(both)) == want * 2
    only = data.with_format("torch", columns=["x"])
    assert rows(infeed.open(only)) == [{"x": x} for x in COLUMNS["x"]]


def test_a_transform_of_hugging_face_runs_in_python():
    _, data = hugging_face()
    made = infeed.open(data.with_transform(lambda batch: {"n": [len(text) for text in batch["text"]]}))
    assert "samples made in Python, by data[row]: a transform is set" in made.explain()
    assert [r["n"] for r in rows(made)] == [1, 2, 0, 1, 1]


def test_a_large_data_set_of_hugging_face_is_not_copied(monkeypatch):
    datasets, _ = hugging_face()
    monkeypatch.setattr("infeed.sources.huggingface.MOST_KEPT", 8)
    pipeline = infeed.open(datasets.Dataset.from_dict({"text": ["a", None], "n": [1, 2]}))
    assert "by data[row]: the column 'text' has missing values; to_parquet()" in pipeline.explain()
    assert rows(pipeline) == [{"text": "a", "n": 1}, {"text": None, "n": 2}]


@pytest.mark.parametrize("opened", [infeed.open, infeed.wrap, infeed.arrays])
def test_splits_of_hugging_face(opened):
    datasets, data = hugging_face()
    with pytest.raises(TypeError, match=r"several splits \('train', 'test'\): give one, data\['train'\]"):
        opened(datasets.DatasetDict(train=data, test=data))
    assert len(opened(datasets.DatasetDict(train=data))) == 5


def test_streams_of_hugging_face():
    datasets, data = hugging_face()
    for opened in (infeed.open, infeed.wrap):
        pipeline = opened(data.to_iterable_dataset())
        assert "an IterableDataset of Hugging Face -> a stream" in pipeline.explain()
        assert rows(pipeline) == rows(infeed.open(data))
    with pytest.raises(TypeError, match="arrays takes arrays by name"):
        infeed.arrays(data.to_iterable_dataset())
    with pytest.raises(infeed.SampleError, match=r"the field 'd' of a stream is dict .*json.dumps\(value\)"):
        nested = datasets.Dataset.from_list([{"d": {"k": 1}}]).to_iterable_dataset()
        rows(infeed.open(nested))


def test_images_of_hugging_face(tmp_path):
    datasets, _ = hugging_face()
    image = pytest.importorskip("PIL.Image")
    pictures = [image.fromarray(np.full((8, 9, 3), 20 * i, np.uint8)) for i in range(4)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["p", "q"])})
    data = datasets.Dataset.from_dict({"image": pictures, "label": [0, 1, 1, 0]}, features=features)
    (batch,) = infeed.open(data).decode(image="rgb").batch(4).to_numpy()
    assert [np.asarray(found)[0, 0, 0] for found in batch["image"]] == [0, 20, 40, 60]
    assert batch["label"].tolist() == [0, 1, 1, 0]
    # Images in files of their own are read by the data set.
    with io.BytesIO() as out:
        pictures[1].save(out, "PNG")
        (tmp_path / "a.png").write_bytes(out.getvalue())
    files = datasets.Dataset.from_dict({"image": [str(tmp_path / "a.png")]}).cast_column("image", datasets.Image())
    pipeline = infeed.open(files)
    assert "files of the column 'image' are outside of its table" in pipeline.explain()
    (batch,) = pipeline.batch(1).to_numpy()
    assert np.asarray(batch["image"])[0, 0, 0].tolist() == [20, 20, 20]
