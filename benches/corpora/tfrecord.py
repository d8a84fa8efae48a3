"""TFRecord: tf.data on serialised examples, with its own parallelism."""

from __future__ import annotations

import os
from typing import Any

from .works import RECORD_BATCH, Pass, Task


def dataset(task: Task) -> tuple[Any, Any]:
    """tensorflow, and batches of records."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(task.threads)
    tf.config.threading.set_intra_op_parallelism_threads(task.threads)
    files = task.files("tfrecord/*.tfrecord")
    return tf, tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE).batch(RECORD_BATCH)


def examples(task: Task) -> Any:
    """Batches of parsed examples."""
    tf, records = dataset(task)
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(batch: Any) -> Any:
        return tf.io.parse_example(batch, features)

    return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def parsed(task: Task) -> Pass:
    """Tensors of the graph's own kind: nothing is copied out."""
    batches = examples(task)
    return lambda: sum(int(batch["label"].shape[0]) for batch in batches)


def as_numpy(task: Task) -> Pass:
    """The same as NumPy arrays, bytes as Python objects."""
    batches = examples(task)
    return lambda: sum(len(batch["label"]) for batch in batches.as_numpy_iterator())


def records(task: Task) -> Pass:
    """Serialised examples as in the file."""
    tf, batches = dataset(task)
    ahead = batches.prefetch(tf.data.AUTOTUNE)
    return lambda: sum(int(batch.shape[0]) for batch in ahead)
