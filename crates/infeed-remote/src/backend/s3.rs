//! S3, and what speaks like it.

use super::object::{ObjectBackend, client, connector, no_retries, refused};
use crate::{credentials::aws, location::Location, options::StoreOptions};
use infeed_core::Result;
use object_store::aws::AmazonS3Builder;
use std::sync::Arc;

/// The region that a server with an endpoint of its own expects, and AWS's first.
const REGION: &str = "us-east-1";

pub(super) fn open(at: &Location<'_>, options: &StoreOptions) -> Result<ObjectBackend> {
    // Keys, web identity, containers and the instance's metadata are read from the environment by object_store.
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(at.host())
        .with_retry(no_retries())
        .with_http_connector(connector(options))
        .with_client_options(client(options)?)
        .with_allow_http(true);
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let has_keys = variable("AWS_ACCESS_KEY_ID").is_some();
    // A profile that is asked for comes before the environment; the default one after it.
    let asked = options.profile.clone().or_else(|| variable("AWS_PROFILE"));
    let profile = match &asked {
        Some(name) => Some(aws::profile(name)?),
        None if has_keys || options.anonymous => aws::default_profile().map(aws::Profile::without_keys),
        None => aws::default_profile(),
    };
    let endpoint = (options.endpoint.clone())
        .or_else(|| variable("AWS_ENDPOINT_URL_S3"))
        .or_else(|| variable("AWS_ENDPOINT_URL"))
        .or_else(|| profile.as_ref().and_then(|profile| profile.endpoint.clone()));
    let region = (options.region.clone())
        .or_else(|| variable("AWS_REGION"))
        .or_else(|| variable("AWS_DEFAULT_REGION"))
        .or_else(|| profile.as_ref().and_then(|profile| profile.region.clone()))
        .unwrap_or_else(|| REGION.to_owned());
    builder = builder.with_region(region);
    // In the path by default: it works with every server, and with names of buckets that have dots.
    builder = builder.with_virtual_hosted_style_request(options.path_style == Some(false));
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
    }
    let mut keys = None;
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    } else if let Some(credentials) = profile.and_then(aws::Profile::credentials) {
        keys = Some(credentials.clone());
        builder = builder.with_credentials(Arc::new(credentials));
    }
    builder.build().map(|store| ObjectBackend::new(store).with_keys(keys)).map_err(|e| refused(at.root, e))
}
