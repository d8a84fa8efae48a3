//! Azure Blob Storage and Data Lake.

use super::object::{ObjectBackend, client, connector, no_retries, refused};
use crate::{location::Location, options::StoreOptions};
use infeed_core::Result;
use object_store::azure::MicrosoftAzureBuilder;

pub(super) fn open(at: &Location<'_>, options: &StoreOptions) -> Result<ObjectBackend> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_retry(no_retries())
        .with_http_connector(connector(options))
        .with_client_options(client(options)?)
        .with_allow_http(true);
    builder = match at.host().split_once('@') {
        // `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/`
        Some((container, account)) => {
            let account = account.split('.').next().unwrap_or(account);
            builder.with_container_name(container).with_account(account)
        }
        None => builder.with_container_name(at.host()),
    };
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/').to_owned());
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    builder.build().map(ObjectBackend::new).map_err(|e| refused(at.root, e))
}
