"""Doors: the loaders that hand out the batches of a pipeline.

``loader.py`` is the NumPy door, and the others build on it: ``jax.py``, ``tf.py`` and ``arrow.py`` here, PyTorch's in
:mod:`infeed.torch`. Their public names are :mod:`infeed.loader`, :mod:`infeed.jax`, :mod:`infeed.tf` and
:mod:`infeed.arrow_door`.
"""
