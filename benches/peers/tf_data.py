"""tf.data: TFRecord shards, decode fused with the crop, batches handed out as NumPy arrays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

import data
from works import AREA, ASPECT, CROP, MEAN, RESIZE, STD, Epochs, Task

#: Passes that make one epoch of undecoded reading.
RAW_PASSES = 8
FIELDS = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def prepare(task: Task) -> None:
    """As many TFRecord files as there are tar shards."""

    def example(image: bytes, label: int) -> bytes:
        feature = {
            "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    def write(part: Path) -> None:
        part.mkdir()
        count = len(data.shards(task.data, task.source))
        outs = [tf.io.TFRecordWriter(str(part / f"{k:03d}.tfrecord")) for k in range(count)]
        for number, (image, label) in enumerate(data.records(task.data, task.source)):
            outs[number % count].write(example(image, label))
        for out in outs:
            out.close()

    data.once(task.data / f"{task.source}.tfrecord", write)


def random_crop(body: Any) -> Any:
    """RandomResizedCrop and flip; only the crop is decoded."""
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(body),
        tf.zeros([1, 0, 4]),
        min_object_covered=0.0,
        area_range=AREA,
        aspect_ratio_range=ASPECT,
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.image.decode_and_crop_jpeg(body, window, channels=3)
    return tf.image.random_flip_left_right(tf.image.resize(image, [CROP, CROP]))


def centre_crop(body: Any) -> Any:
    """What Resize and CenterCrop come to, fused: the middle 224/256 of the short side, brought to 224."""
    shape = tf.image.extract_jpeg_shape(body)
    short = tf.cast(tf.minimum(shape[0], shape[1]), tf.float32)
    side = tf.cast(tf.round(short * CROP / RESIZE), tf.int32)
    window = tf.stack([(shape[0] - side) // 2, (shape[1] - side) // 2, side, side])
    return tf.image.resize(tf.image.decode_and_crop_jpeg(body, window, channels=3), [CROP, CROP])


def epochs(task: Task) -> Epochs:
    """Shards interleaved, a shuffle buffer, samples mapped in parallel in any order."""
    paths = sorted(str(p) for p in (task.data / f"{task.source}.tfrecord").iterdir())
    paths *= RAW_PASSES if task.encoded else 1
    mean, std = tf.constant(MEAN) * 255, tf.constant(STD) * 255

    def load(row: Any) -> tuple[Any, Any]:
        fields = tf.io.parse_single_example(row, FIELDS)
        body, label = fields["image"], fields["label"]
        if task.encoded:
            return body, label
        if task.work == "small":
            return tf.ensure_shape(tf.io.decode_png(body, 3), [32, 32, 3]), label
        image = random_crop(body) if task.random else centre_crop(body)
        if not task.normalised:
            return tf.cast(tf.round(image), tf.uint8), label
        return tf.transpose((image - mean) / std, [2, 0, 1]), label

    rows = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
    rows = rows.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=task.threads)
    rows = rows.shuffle(500).map(load, num_parallel_calls=task.threads, deterministic=False)
    rows = rows.batch(task.batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = task.threads
    rows = rows.with_options(options)
    return rows.as_numpy_iterator
