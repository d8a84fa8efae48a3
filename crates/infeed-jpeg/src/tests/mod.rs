//! Tests against libjpeg-turbo, on files that the tests generate.

mod damage;
mod headers;
mod regions;
pub(crate) mod samples;
