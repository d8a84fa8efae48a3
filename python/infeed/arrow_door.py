"""The Arrow door: batches as ``pyarrow.RecordBatch``."""

from .doors.arrow import ArrowLoader

__all__ = ["ArrowLoader"]
