//! Profiles of the AWS command: keys, regions, endpoints, and programs that give keys.

use super::{
    ini::{self, Section},
    renew::{Renewable, Source},
};
use infeed_core::{Error, Result};
use object_store::aws::AwsCredential;
use serde::Deserialize;
use std::{collections::HashMap, path::PathBuf, process::Command};

/// What a profile says.
#[derive(Default)]
pub(crate) struct Profile {
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
    keys: Option<Source>,
}

/// Returns the profile of this name.
pub(crate) fn profile(name: &str) -> Result<Profile> {
    let found = sections();
    match found.get(name) {
        Some(section) => Ok(read(name, section)),
        None => {
            let mut known: Vec<&str> = found.keys().map(String::as_str).collect();
            known.sort_unstable();
            let known = if known.is_empty() {
                "there are none".to_owned()
            } else {
                format!("there are: {}", known.join(", "))
            };
            Err(Error::argument(format!("there is no AWS profile `{name}` ({known})")))
        }
    }
}

/// Returns the profile that holds when none is named.
pub(crate) fn default_profile() -> Option<Profile> {
    sections().get("default").map(|section| read("default", section))
}

/// Both files, that of keys over the other.
fn sections() -> HashMap<String, Section> {
    let place = |variable: &str, name: &str| {
        let given = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
        given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".aws").join(name)))
    };
    let mut all = HashMap::new();
    for path in [place("AWS_CONFIG_FILE", "config"), place("AWS_SHARED_CREDENTIALS_FILE", "credentials")] {
        let text = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        for (name, section) in ini::parse(&text) {
            all.entry(name).or_insert_with(Section::new).extend(section);
        }
    }
    all
}

fn read(name: &str, section: &Section) -> Profile {
    let value = |key: &str| section.get(key).filter(|value| !value.is_empty()).cloned();
    let given = keys_of(section).map(|_| Source::File(name.to_owned()));
    let program = || value("credential_process").map(|line| Source::Program(words(&line)));
    // Single sign-on and roles need answers of other services: the AWS command knows how, and keeps them.
    let indirect = || {
        let named = ["sso_session", "sso_start_url", "role_arn"].iter().any(|key| section.contains_key(*key));
        let line = ["aws", "configure", "export-credentials", "--format", "process", "--profile", name];
        named.then(|| Source::Program(line.map(str::to_owned).to_vec()))
    };
    Profile {
        region: value("region"),
        endpoint: value("endpoint_url"),
        keys: given.or_else(program).or_else(indirect),
    }
}

/// The keys that stand in a section.
fn keys_of(section: &Section) -> Option<AwsCredential> {
    let value = |key: &str| section.get(key).filter(|value| !value.is_empty()).cloned();
    let (key_id, secret_key) = (value("aws_access_key_id")?, value("aws_secret_access_key")?);
    Some(AwsCredential { key_id, secret_key, token: value("aws_session_token") })
}

/// The keys that stand in the files now, for a profile.
pub(super) fn given(name: &str) -> Option<AwsCredential> {
    keys_of(sections().get(name)?)
}

/// Splits a command into words; quotes keep spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            (c, None) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (c, _) => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

impl Profile {
    /// Region and endpoint alone: keys come from elsewhere.
    pub(crate) fn without_keys(self) -> Self {
        Profile { keys: None, ..self }
    }

    /// A provider of its keys, if it has any.
    pub(crate) fn credentials(self) -> Option<Renewable> {
        self.keys.map(Renewable::new)
    }
}

/// What a program prints.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Printed {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: String,
    pub(super) session_token: Option<String>,
    pub(super) expiration: Option<String>,
}

/// Asks a program for keys.
pub(super) fn run(command: &[String]) -> std::result::Result<Printed, String> {
    let (program, arguments) = command.split_first().ok_or("credential_process is empty")?;
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("`{program}`: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{program}` failed: {}", said.lines().next_back().unwrap_or("it said nothing")));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("`{program}` did not print credentials as JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_say_where_keys_come_from() {
        let section = |lines: &str| ini::parse(&format!("[x]\n{lines}"))["x"].clone();
        let given = read("x", &section("aws_access_key_id=a\naws_secret_access_key=b\nregion=r"));
        assert!(matches!(given.keys, Some(Source::File(_))) && given.region.as_deref() == Some("r"));
        let asked = read("x", &section("credential_process = '/a b/c' --d \"e f\""));
        assert!(matches!(asked.keys, Some(Source::Program(words)) if words == ["/a b/c", "--d", "e f"]));
        let sso = read("x", &section("sso_session = s"));
        assert!(
            matches!(sso.keys, Some(Source::Program(words)) if words[0] == "aws" && words.last().unwrap() == "x")
        );
        assert!(read("x", &section("output = json")).keys.is_none());
    }

    #[test]
    fn programs_are_asked_for_keys() {
        let print = r#"{"Version": 1, "AccessKeyId": "id", "SecretAccessKey": "key", "Expiration": "2099-01-02T03:04:05Z"}"#;
        let printed = run(&["echo".to_owned(), print.to_owned()]).unwrap();
        assert_eq!((&*printed.access_key_id, &*printed.secret_access_key), ("id", "key"));
        let failed = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            run(&words).err().unwrap()
        };
        assert!(failed(&["no-such-program"]).contains("no-such-program"));
        assert!(failed(&["false"]).contains("failed"));
        assert!(
            failed(&["echo", "secret"]).contains("JSON") && !failed(&["echo", "secret"]).contains("secret")
        );
    }
}
