"""The parts of ``remote_chaos.py``: data, one rank in a process of its own, one run, and what must be true after it."""
