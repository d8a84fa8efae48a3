//! Tests against libjpeg-turbo, on files that are made while the tests run.

mod damage;
mod headers;
mod regions;
pub(crate) mod samples;
