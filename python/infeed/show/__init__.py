"""Look at samples: as a page (:func:`html`), as one picture (:func:`grid`), from a shell (``infeed show``).

Pipelines, batches and samples show themselves in notebooks; this is the same for files. Only NumPy is needed.
"""

from .command import command
from .page import html
from .sheet import grid

__all__ = ["command", "grid", "html"]
