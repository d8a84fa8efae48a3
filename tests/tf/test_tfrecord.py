"""TFRecord files that TensorFlow writes. Runs in an environment of its own: ``make test-tf``."""

from __future__ import annotations

import numpy as np
import pytest

import infeed

tf = pytest.importorskip("tensorflow", reason="needs tensorflow: make test-tf")


def feature(value):
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    if isinstance(value[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_what_tensorflow_writes(tmp_path, kind):
    rows = [{"raw": bytes([i] * i), "label": [i - 4], "x": [i / 2, -1.0, 3.0]} for i in range(40)]
    path = tmp_path / ("a.tfrecord.gz" if kind else "a.tfrecord")
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression_type=kind)) as out:
        for row in rows:
            features = tf.train.Features(feature={name: feature(value) for name, value in row.items()})
            out.write(tf.train.Example(features=features).SerializeToString())
    records = [bytes(r) for b in infeed.tfrecord(path).batch(7).to_numpy() for r in b["record"]]
    assert records == [r.numpy() for r in tf.data.TFRecordDataset(str(path), compression_type=kind)]
    for features in ("auto", {"raw": "bytes", "label": "int64", "x": "float32[3]"}):
        batch = next(iter(infeed.tfrecord(path, features=features).batch(40).to_numpy()))
        assert batch["label"].tolist() == [row["label"][0] for row in rows]
        assert [bytes(r) for r in batch["raw"]] == [row["raw"] for row in rows]
        assert np.array_equal(np.stack(list(batch["x"])), np.array([row["x"] for row in rows], np.float32))
