//! The files of the AWS command: sections of `key = value` lines.

use std::collections::HashMap;

/// The lines of one section.
pub(super) type Section = HashMap<String, String>;

/// Reads a file. Lines that are indented belong to the key above them (`s3 =` and its settings) and are left out.
pub(super) fn parse(text: &str) -> HashMap<String, Section> {
    let mut sections: HashMap<String, Section> = HashMap::new();
    let mut current = None;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) || line.starts_with([' ', '\t']) {
            continue;
        }
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            // `[profile x]` in `config` is `[x]` in `credentials`.
            let name = name.trim();
            let name = name.strip_prefix("profile ").unwrap_or(name).trim();
            sections.entry(name.to_owned()).or_default();
            current = Some(name.to_owned());
        } else if let (Some(section), Some((key, value))) = (&current, bare.split_once('='))
            && let Some(section) = sections.get_mut(section)
        {
            // A comment after a value needs a space before it.
            let value = value.split(" #").next().unwrap_or(value);
            section.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_values() {
        let text = "# all\n[default]\nregion=eu-west-1\ns3 =\n  max_requests = 3\n[profile dev ]\nA = b = c # why\nbroken\n";
        let found = parse(text);
        assert_eq!(found["default"]["region"], "eu-west-1");
        assert_eq!((found["dev"]["a"].as_str(), found["dev"].len()), ("b = c", 1));
        assert!(!found["default"].contains_key("max_requests"));
        assert!(parse("a = b\n[").is_empty() || parse("[").len() <= 1);
    }
}
