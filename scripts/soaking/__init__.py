"""The parts of ``scripts/soak.py``."""
