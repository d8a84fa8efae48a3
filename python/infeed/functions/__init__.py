"""Python functions in pipelines: what they are applied to, how their results become batches, and who runs them.

The engine reads, decodes and transforms rows; the functions get its results sample by sample, and theirs are collated.
One step of the order stays one batch, so order, resume and ledgers work as they do without functions.
"""

from .stage import Function
from .tail import Result, Tail, Task

__all__ = ["Function", "Result", "Tail", "Task"]
