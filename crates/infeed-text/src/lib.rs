//! From text to what language models read: tokenizers, masking and packing.
