"""Python functions in pipelines: what they are applied to, how their results become batches, and who runs them.

Rows are read, decoded and transformed by the engine; what it gives is handed to the functions sample by sample, and their
results are collated. One step of the order stays one batch, so order, resume and ledgers hold as they do without them.
"""

from .stage import Function
from .tail import Result, Tail, Task

__all__ = ["Function", "Result", "Tail", "Task"]
