//! Token corpora: files of token ids with and without an index, and the samples that language models are trained on.
