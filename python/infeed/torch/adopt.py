"""Keeps infeed's loader where Hugging Face Accelerate would replace it by torch's.

``Accelerator.prepare`` does not keep the loader that it is given: ``accelerate.data_loader.DataLoaderAdapter`` makes a
new ``torch.utils.data.DataLoader`` with the same arguments and other samplers. Before that, Accelerate asks the loader
whether it is prepared already. An infeed loader then makes sure that the adapter's new loader is infeed's, too.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
import weakref
from typing import Any

# The loader that is being prepared in this thread.
_asked = threading.local()
# Loaders that were made here: Accelerate rebuilds them once more to skip batches.
_made: weakref.WeakSet[Any] = weakref.WeakSet()

# Arguments that torch's loader does not have, and so are not passed on.
OWN = ("native", "threads", "share_lists", "on_dead_worker", "workers", "snapshot_every_n_steps")


def announce(loader: Any) -> None:
    """Accelerate is about to rebuild this loader."""
    module = sys.modules.get("accelerate.data_loader")
    if module is None:
        return
    adapter = getattr(module, "DataLoaderAdapter", None)
    if adapter is None:
        warnings.warn(
            "this version of Accelerate replaces infeed's DataLoader by torch's in a way that infeed does not know: "
            "infeed is not used. Leave the loader out of prepare(), and move batches to the device yourself.",
            stacklevel=4,
        )
        return
    if not hasattr(adapter.__init__, "__infeed__"):
        adapter.__init__ = _wrapped(adapter.__init__)
    _asked.loader = weakref.ref(loader)


def _wrapped(theirs: Any) -> Any:
    @functools.wraps(theirs)
    def init(
        self: Any, dataset: Any, use_stateful_dataloader: bool = False, batch_sampler: Any = None, **options: Any
    ) -> None:
        theirs(self, dataset, use_stateful_dataloader, batch_sampler=batch_sampler, **options)
        source = _source(dataset, options)
        if source is not None and not use_stateful_dataloader:
            self.base_dataloader = _rebuilt(source, dataset, batch_sampler, options)

    init.__infeed__ = True  # type: ignore[attr-defined]
    return init


def _source(dataset: Any, options: dict[str, Any]) -> Any:
    """The loader of infeed's that the arguments were taken from; None if it is another one."""
    asked: Any = getattr(_asked, "loader", lambda: None)()
    _asked.loader = lambda: None
    rest = [made for made in list(_made) if made.dataset is dataset]
    for source in [asked, *rest]:
        if source is not None and source.collate_fn is options.get("collate_fn"):
            return source
    return None


def _rebuilt(source: Any, dataset: Any, batch_sampler: Any, options: dict[str, Any]) -> Any:
    from .dataloader import DataLoader

    # A subclass with an __init__ of its own may want other arguments.
    kind = type(source) if type(source).__init__ is DataLoader.__init__ else DataLoader
    own = {name: getattr(source, name) for name in OWN}
    made = kind(dataset, batch_sampler=batch_sampler, **options, **own)
    _made.add(made)
    return made
