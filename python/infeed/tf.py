"""The TensorFlow door: a pipeline as ``tf.data.Dataset``."""

from .doors.tf import TfLoader, dataset, loader_of

__all__ = ["TfLoader", "dataset", "loader_of"]
