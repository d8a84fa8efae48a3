//! How stores are reached: what a user sets beside the URL.

use infeed_core::{Error, Result, registry::nearest};
use serde_json::{Map, Value as Json};
use std::time::Duration;

/// Settings of all remote stores of a pipeline. None of them is a secret, so that they can be part of a recipe; keys and
/// tokens come from the environment, from profiles and from the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// The address of the service, for others than the provider's own: `http://127.0.0.1:9000`.
    pub endpoint: Option<String>,
    /// The region of the bucket.
    pub region: Option<String>,
    /// The profile in the files of the AWS command.
    pub profile: Option<String>,
    /// Reads without credentials.
    pub anonymous: bool,
    /// Whether the bucket is in the path of a URL and not in its host. Servers with an endpoint of their own expect that.
    pub path_style: Option<bool>,
    /// The address of an HTTP proxy.
    pub proxy: Option<String>,
    /// A file with certificates to trust (PEM).
    pub ca_file: Option<String>,
    /// How long a request may make no progress, with all its tries, before it is an error.
    pub deadline: Duration,
    /// The largest number of requests at a time.
    pub requests: usize,
    /// Bytes that may lie in memory before they are read.
    pub ahead: u64,
    /// Whether requests that are late are sent a second time.
    pub hedge: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            endpoint: None,
            region: None,
            profile: None,
            anonymous: false,
            path_style: None,
            proxy: None,
            ca_file: None,
            deadline: Duration::from_secs(60),
            requests: 256,
            ahead: 512 << 20,
            hedge: true,
        }
    }
}

/// The names of the options.
const NAMES: [&str; 11] = [
    "endpoint",
    "region",
    "profile",
    "anonymous",
    "path_style",
    "proxy",
    "ca_file",
    "deadline",
    "requests",
    "ahead",
    "hedge",
];

/// Words that are in the names of secrets.
const SECRETS: [&str; 6] = ["secret", "token", "password", "access_key", "account_key", "sas"];

impl StoreOptions {
    /// Reads options as they are written in a recipe.
    pub fn parse(given: &Map<String, Json>) -> Result<Self> {
        let mut options = StoreOptions::default();
        for (name, value) in given {
            let wrong = |what: &str| Error::argument(format!("store option `{name}`: {what}"));
            let text = || value.as_str().map(str::to_owned).ok_or_else(|| wrong("must be a string"));
            let flag = || value.as_bool().ok_or_else(|| wrong("must be true or false"));
            let number =
                || value.as_u64().filter(|n| *n > 0).ok_or_else(|| wrong("must be a number above 0"));
            match name.as_str() {
                "endpoint" => options.endpoint = Some(text()?),
                "region" => options.region = Some(text()?),
                "profile" => options.profile = Some(text()?),
                "anonymous" => options.anonymous = flag()?,
                "path_style" => options.path_style = Some(flag()?),
                "proxy" => options.proxy = Some(text()?),
                "ca_file" => options.ca_file = Some(text()?),
                "deadline" => {
                    let seconds = value.as_f64().filter(|s| *s > 0.0 && *s < 1e9);
                    options.deadline =
                        Duration::from_secs_f64(seconds.ok_or_else(|| wrong("must be seconds above 0"))?);
                }
                "requests" => options.requests = usize::try_from(number()?).unwrap_or(usize::MAX).min(4096),
                "ahead" => options.ahead = number()?,
                "hedge" => options.hedge = flag()?,
                _ => return Err(unknown(name)),
            }
        }
        Ok(options)
    }
}

fn unknown(name: &str) -> Error {
    if SECRETS.iter().any(|word| name.to_ascii_lowercase().contains(word)) {
        return Error::argument(format!(
            "store option `{name}`: secrets are not part of a pipeline, whose recipe others may see; set them in the \
             environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, GOOGLE_APPLICATION_CREDENTIALS, \
             AZURE_STORAGE_ACCOUNT_KEY, HF_TOKEN) or name a profile"
        ));
    }
    let near = nearest(name, &NAMES).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Error::argument(format!("there is no store option `{name}`{near} (there are: {})", NAMES.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(json: Json) -> Result<StoreOptions> {
        StoreOptions::parse(json.as_object().unwrap())
    }

    #[test]
    fn options_are_checked() {
        let options = parse(json!({"endpoint": "http://h:1", "anonymous": true, "deadline": 2.5})).unwrap();
        assert_eq!(options.endpoint.as_deref(), Some("http://h:1"));
        assert!(options.anonymous && options.deadline == Duration::from_millis(2500));
        let message = |json| parse(json).unwrap_err().to_string();
        assert!(message(json!({"endpont": "x"})).contains("did you mean `endpoint`?"));
        assert!(message(json!({"anonymous": "yes"})).contains("must be true or false"));
        assert!(message(json!({"requests": 0})).contains("above 0"));
        let secret = message(json!({"secret_access_key": "hunter2"}));
        assert!(secret.contains("not part of a pipeline") && !secret.contains("hunter2"), "{secret}");
    }
}
