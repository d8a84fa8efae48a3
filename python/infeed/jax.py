"""The JAX door: batches as ``jax.Array``."""

from .doors.jax import JaxLoader

__all__ = ["JaxLoader"]
