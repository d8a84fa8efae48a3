//! Keys that can be had again: those that a program prints, and those of a file that somebody writes anew.
//!
//! They are asked for shortly before they end, and when the service says that keys which worked until now are not valid any more.
//! Keys that never worked are not asked for again: they are wrong, and whoever waits should hear of it at once.

use super::aws::{self, Printed};
use crate::time::iso_date;
use infeed_core::Hold;
use object_store::{CredentialProvider, aws::AwsCredential};
use std::{
    pin::Pin,
    sync::{
        Arc, Mutex as StdMutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::sync::Mutex;

/// Keys are fetched again this long before they end, so that no request is signed with keys that end on the way.
const MARGIN: Duration = Duration::from_secs(300);
/// An answer that only says "denied" can mean many things: it is a reason to look for new keys once in this time.
const CALM: Duration = Duration::from_secs(60);

/// What errors of profiles name as their place.
pub(crate) const PROFILE: &str = "the AWS profile";

/// Where keys come from.
pub(super) enum Source {
    /// The section of this profile in the files of the AWS command.
    File(String),
    /// A command that prints them.
    Program(Vec<String>),
}

/// A provider of keys that can be had again.
#[derive(Clone)]
pub(crate) struct Renewable(Arc<Inner>);

struct Inner {
    source: Source,
    kept: Mutex<Option<Kept>>,
    /// Which keys are kept, counted, and whether a request with them has succeeded.
    generation: AtomicU64,
    worked: AtomicBool,
    looked: StdMutex<Option<Instant>>,
}

struct Kept {
    keys: Arc<AwsCredential>,
    until: Option<SystemTime>,
}

impl Kept {
    fn ends(&self) -> bool {
        self.until.is_some_and(|until| SystemTime::now() + MARGIN >= until)
    }
}

impl std::fmt::Debug for Renewable {
    // Neither the keys nor the arguments, which may be secret, too.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0.source {
            Source::File(name) => write!(f, "Profile({name})"),
            Source::Program(command) => write!(f, "Program({})", command.first().map_or("", String::as_str)),
        }
    }
}

impl Renewable {
    pub(super) fn new(source: Source) -> Self {
        Renewable(Arc::new(Inner {
            source,
            kept: Mutex::default(),
            generation: AtomicU64::new(0),
            worked: AtomicBool::new(false),
            looked: StdMutex::default(),
        }))
    }

    /// Which keys the next request is signed with.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Relaxed)
    }

    /// A request with these keys has succeeded.
    pub(crate) fn worked(&self, generation: u64) {
        if !self.0.worked.load(Relaxed) && generation == self.generation() {
            self.0.worked.store(true, Relaxed);
        }
    }

    /// The service refuses keys. Returns whether there are others by now. `invalid`: it says that the keys are at fault.
    pub(crate) async fn renew(&self, refused: u64, invalid: bool) -> Result<bool, String> {
        let inner = Arc::clone(&self.0);
        // A task of its own: a request that is given up must not end the program that it waits for.
        let task = tokio::spawn(async move { inner.renew(refused, invalid).await });
        task.await.unwrap_or(Ok(false))
    }
}

impl Inner {
    async fn renew(&self, refused: u64, invalid: bool) -> Result<bool, String> {
        let mut kept = self.kept.lock().await;
        // All requests on their way are refused together; the first of them asks.
        if self.generation.load(Relaxed) != refused {
            return Ok(true);
        }
        if !self.worked.load(Relaxed) {
            return Ok(false);
        }
        let soon = self.looked.hold().is_some_and(|at| at.elapsed() < CALM);
        if soon && !invalid {
            return Ok(false);
        }
        *self.looked.hold() = Some(Instant::now());
        let fresh = self.load().await?;
        if kept.as_ref().is_some_and(|old| old.keys == fresh.keys) {
            return Ok(false);
        }
        self.put(&mut kept, fresh);
        Ok(true)
    }

    fn put(&self, kept: &mut Option<Kept>, fresh: Kept) {
        if kept.replace(fresh).is_some() {
            self.generation.fetch_add(1, Relaxed);
            self.worked.store(false, Relaxed);
        }
    }

    /// The keys at hand, if they are still good and nobody is at them.
    fn at_hand(&self) -> Option<Arc<AwsCredential>> {
        let kept = self.kept.try_lock().ok()?;
        kept.as_ref().filter(|kept| !kept.ends()).map(|kept| Arc::clone(&kept.keys))
    }

    async fn keys(&self) -> Result<Arc<AwsCredential>, String> {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_none_or(Kept::ends) {
            let fresh = self.load().await?;
            self.put(&mut kept, fresh);
        }
        kept.as_ref().map(|kept| Arc::clone(&kept.keys)).ok_or_else(|| "there are no keys".to_owned())
    }

    async fn load(&self) -> Result<Kept, String> {
        match &self.source {
            Source::File(name) => {
                let keys = aws::given(name)
                    .ok_or_else(|| format!("the AWS profile `{name}` has no keys any more"))?;
                Ok(Kept { keys: Arc::new(keys), until: None })
            }
            Source::Program(command) => {
                let command = command.clone();
                let printed = tokio::task::spawn_blocking(move || aws::run(&command)).await;
                let Printed {
                    access_key_id: key_id,
                    secret_access_key: secret_key,
                    session_token: token,
                    expiration,
                } = printed.map_err(|e| e.to_string())??;
                let until = expiration.as_deref().and_then(iso_date);
                let until = until.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
                Ok(Kept { keys: Arc::new(AwsCredential { key_id, secret_key, token }), until })
            }
        }
    }
}

impl CredentialProvider for Renewable {
    type Credential = AwsCredential;

    fn get_credential<'a, 'b>(
        &'a self,
    ) -> Pin<Box<dyn Future<Output = object_store::Result<Arc<AwsCredential>>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            if let Some(keys) = inner.at_hand() {
                return Ok(keys);
            }
            let keys = tokio::spawn(async move { inner.keys().await }).await?;
            keys.map_err(|what| object_store::Error::Unauthenticated {
                path: PROFILE.to_owned(),
                source: what.into(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap().block_on(work)
    }

    /// A program that prints other keys each time.
    fn counting(folder: &std::path::Path) -> Renewable {
        let script = format!(
            "echo x >> {0}/calls; n=$(wc -l < {0}/calls); echo '{{\"AccessKeyId\": \"id'$n'\", \"SecretAccessKey\": \"s\"}}'",
            folder.display()
        );
        Renewable::new(Source::Program(["sh", "-c", &script].map(str::to_owned).to_vec()))
    }

    #[test]
    fn keys_that_worked_are_renewed_once_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let keys = counting(folder.path());
        asked(async {
            let id = |keys: Renewable| async move { keys.get_credential().await.unwrap().key_id.clone() };
            assert_eq!((id(keys.clone()).await, id(keys.clone()).await), ("id1".into(), "id1".into()));
            // They never worked.
            assert_eq!(keys.renew(0, true).await, Ok(false));
            keys.worked(0);
            let refused = keys.generation();
            assert_eq!(
                (keys.renew(refused, true).await, keys.renew(refused, true).await),
                (Ok(true), Ok(true))
            );
            assert_eq!(id(keys.clone()).await, "id2");
            // New ones that are refused at once are wrong, too.
            assert_eq!(keys.renew(keys.generation(), true).await, Ok(false));
            // An answer that does not speak of keys is no reason to ask again so soon.
            keys.worked(keys.generation());
            assert_eq!(keys.renew(keys.generation(), false).await, Ok(false));
        });
    }

    #[test]
    fn the_same_keys_are_no_new_ones() {
        let print = r#"{"AccessKeyId": "id", "SecretAccessKey": "key"}"#;
        let keys = Renewable::new(Source::Program(["echo", print].map(str::to_owned).to_vec()));
        asked(async {
            assert_eq!(keys.get_credential().await.unwrap().key_id, "id");
            keys.worked(0);
            assert_eq!(keys.renew(0, true).await, Ok(false));
        });
        assert!(!format!("{keys:?}").contains("key"), "{keys:?}");
    }
}
