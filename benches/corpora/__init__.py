"""Tokens, text and tables: what `benches/corpora.py` measures, one module per concern."""
