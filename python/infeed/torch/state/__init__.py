"""The position of a loader as plain data: ``state_dict()`` and ``load_state_dict()`` of the drop-in DataLoader.

A position is the number of batches that were handed out, and what is needed to come back to it:

* ``rng``: the random states at the start of the epoch. The sampler is started from them again and moved forward.
* ``order``: the sampler's iterator, and the states of samplers that have one.
* ``keeper``: runs where the data set lives (a worker, or this process). Takes and restores the states of the data set and
  of its iterator. A worker sends its state with each batch, because it works ahead of the consumer.
* ``progress``: what the consumer knows about the epoch. It outlives the iterator, so that a state can be taken after
  ``break``.
* ``saved``: a state that was loaded, compared with the loader.
* ``local``: the iterator without workers. ``resumable``: the methods of the loader.

The entries have the names of torchdata's ``StatefulDataLoader``, because other libraries read some of them; what only
infeed needs is under ``"infeed"``.
"""

from .progress import Progress
from .resumable import Resumable
from .saved import StateMismatch

__all__ = ["Progress", "Resumable", "StateMismatch"]
