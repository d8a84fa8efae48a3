//! Google Cloud Storage.

use super::object::{ObjectBackend, client, connector, no_retries, refused};
use crate::{location::Location, options::StoreOptions};
use infeed_core::{Error, Result};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

pub(super) fn open(at: &Location<'_>, options: &StoreOptions) -> Result<ObjectBackend> {
    for (given, name) in [(&options.region, "region"), (&options.profile, "profile")] {
        if given.is_some() {
            return Err(Error::argument(format!(
                "store option `{name}`: Google Cloud Storage has no {name}"
            )));
        }
    }
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(at.host())
        .with_retry(no_retries())
        .with_http_connector(connector(options))
        .with_client_options(client(options)?);
    let emulator = std::env::var("STORAGE_EMULATOR_HOST").ok().filter(|host| !host.is_empty());
    let emulator = emulator.map(|host| if host.contains("://") { host } else { format!("http://{host}") });
    if let Some(endpoint) = options.endpoint.clone().or(emulator) {
        builder = builder.with_config(GoogleConfigKey::BaseUrl, endpoint.trim_end_matches('/'));
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    builder.build().map(ObjectBackend::new).map_err(|e| refused(at.root, e))
}
