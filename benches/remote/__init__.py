"""Parts of `benches/remote.py`: data in a server, and one loop for each loader."""
