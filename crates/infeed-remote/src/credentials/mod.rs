//! Credentials that object_store does not read by itself.

pub(crate) mod aws;
mod ini;
mod renew;

pub(crate) use renew::{PROFILE, Renewable};
