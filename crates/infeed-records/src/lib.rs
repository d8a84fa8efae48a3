//! Formats that are cut into records row by row: JSON lines, CSV, text, TFRecord, MDS.
