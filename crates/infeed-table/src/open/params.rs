//! Arguments shared by all tables.

use infeed_core::Param;

pub(crate) const COLUMNS: Param = Param {
    name: "columns",
    python: "Iterable[str] | None",
    default: Some("null"),
    about: "the only columns that are read",
};

pub(crate) const WHERE: Param = Param {
    name: "where",
    python: "str | None",
    default: Some("null"),
    about: "keep the rows that fulfil a condition, such as `age > 30 and country == 'DE'`",
};

pub(crate) const NULLS: Param = Param {
    name: "nulls",
    python: "Nulls",
    default: Some("\"auto\""),
    about: "`auto`: a null is NaN in a column of floats and a missing value elsewhere; `error`: its row is a bad sample",
};

pub(crate) const FILL: Param = Param {
    name: "fill",
    python: "Scalar | Mapping[str, Scalar] | None",
    default: Some("null"),
    about: "what stands in for nulls: a value for all columns that it fits, or a table of columns",
};

pub(crate) const LISTS: Param = Param {
    name: "lists",
    python: "Lists",
    default: Some("\"auto\""),
    about: "`auto`: lists of numbers that all have one length are arrays of that shape, and one of another length is a bad sample; `vary`: \
            lists may have any length",
};

pub(crate) const READ: Param = Param {
    name: "read",
    python: "Read",
    default: Some("\"mmap\""),
    about: "`mmap`: files are mapped where they lie on this machine; `pread`: they are read by ranges",
};

pub(crate) const SPLIT: Param = Param {
    name: "split",
    python: "str | None",
    default: Some("null"),
    about: "the part of a data set folder that has several",
};

pub(crate) const MATRIX: Param = Param {
    name: "matrix",
    python: "Mapping[str, Any] | None",
    default: Some("null"),
    about: "fields of many columns each, as infeed.table makes them",
};

pub(crate) const FILES: Param = Param {
    name: "files",
    python: "str | None",
    default: Some("null"),
    about: "a folder whose files cells may name, besides the folder of the table",
};
