//! The part of YAML that descriptions of data sets use: keys with texts, lists of texts and maps of texts.
//!
//! That is all the loader needs from `data.yaml`, and a parser for the whole language would be a large dependency that
//! reads untrusted files. Keys that nobody asks for are not looked at, whatever their values are. What is asked for and
//! is of another form is an error.

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Yaml {
    Nothing,
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

/// Returns the value of a key at the top of a document, or `None` if it does not have the key.
pub(crate) fn find(text: &str, key: &str) -> Result<Option<Yaml>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| top_key(line) != Some(key));
    let Some((number, first)) = lines.next() else { return Ok(None) };
    let below: Vec<&str> = lines.map(|(_, line)| line).take_while(|line| belongs_to_key(line)).collect();
    let rest = first.split_once(':').map_or("", |(_, rest)| rest);
    value(rest, &below).map(Some).map_err(|what| format!("line {}: `{key}` {what}", number + 1))
}

/// The key that a line without indentation begins.
fn top_key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let bare = key.trim_end().trim_matches(['"', '\'']);
    let ends = rest.is_empty() || rest.starts_with([' ', '\t']);
    (ends && !line.starts_with([' ', '\t', '#', '-'])).then_some(bare)
}

/// Whether a line continues the value of the key above it. Lists need no indentation.
fn belongs_to_key(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with([' ', '\t', '#', '-', ']', '}']) && !line.starts_with("---")
}

fn value(rest: &str, below: &[&str]) -> Result<Yaml, String> {
    let rest = without_comment(rest);
    let mut lines = below.iter().map(|line| without_comment(line)).filter(|line| !line.is_empty()).peekable();
    if rest.starts_with(['[', '{']) {
        let all: Vec<&str> = std::iter::once(rest).chain(lines).collect();
        return flow(&all.join(" "));
    }
    if !rest.is_empty() {
        if lines.peek().is_some() {
            return Err("has a text of several lines: put it on one".to_owned());
        }
        return scalar(rest).map(Yaml::Text);
    }
    match lines.peek() {
        None => Ok(Yaml::Nothing),
        Some(line) if *line == "-" || line.starts_with("- ") => {
            let item = |line: &str| {
                let item = line.strip_prefix('-').ok_or("has a line that is no item of its list")?;
                scalar(item.trim())
            };
            lines.map(item).collect::<Result<_, _>>().map(Yaml::List)
        }
        Some(_) => lines.map(pair).collect::<Result<_, _>>().map(Yaml::Map),
    }
}

/// Lists and maps in brackets.
fn flow(text: &str) -> Result<Yaml, String> {
    let (close, is_map) = if text.starts_with('{') { ('}', true) } else { (']', false) };
    let inside = text[1..].strip_suffix(close).ok_or_else(|| format!("has no `{close}` at its end"))?;
    let mut items = Vec::new();
    let mut quote = None;
    let mut start = 0;
    for (at, c) in inside.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            // An apostrophe in the middle of a word is no quote.
            (None, '\'' | '"') if starts_word(&inside[start..at]) => quote = Some(c),
            (None, '[' | ']' | '{' | '}') => return Err("has lists in lists, which are not read".to_owned()),
            (None, ',') => {
                items.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = inside[start..].trim();
    // A comma may stand behind the last item.
    if !last.is_empty() {
        items.push(last);
    }
    if is_map {
        return items.into_iter().map(pair).collect::<Result<_, _>>().map(Yaml::Map);
    }
    items.into_iter().map(scalar).collect::<Result<_, _>>().map(Yaml::List)
}

fn pair(text: &str) -> Result<(String, String), String> {
    let at = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1));
    let at = at.ok_or_else(|| format!("has `{text}`, which is no `key: value`"))?;
    Ok((scalar(text[..at].trim())?, scalar(text[at + 1..].trim())?))
}

fn scalar(text: &str) -> Result<String, String> {
    let quoted = |quote: char| {
        text.strip_prefix(quote).map(|rest| rest.strip_suffix(quote).filter(|_| text.len() > 1))
    };
    let unread = || format!("has `{text}`, which this reader of simple YAML does not know");
    match (quoted('\''), quoted('"')) {
        (Some(inside), _) => Ok(inside.ok_or_else(unread)?.replace("''", "'")),
        (_, Some(inside)) => {
            let inside = inside.ok_or_else(unread)?;
            // JSON's escapes are those of YAML that anybody uses.
            serde_json::from_str(&format!("\"{inside}\"")).map_err(|_| unread())
        }
        _ if text.starts_with(['&', '*', '!', '|', '>', '%', '@', '`', '[', '{']) => Err(unread()),
        _ => Ok(text.to_owned()),
    }
}

/// A line without spaces around it and without the comment at its end.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') if starts_word(&line[..at]) => quote = Some(c),
            (None, '#') if line[..at].ends_with([' ', '\t']) || at == 0 => return line[..at].trim(),
            _ => {}
        }
    }
    line.trim()
}

/// Whether a quote after this text opens a quoted one.
fn starts_word(before: &str) -> bool {
    before.trim_end().is_empty() || before.ends_with([' ', '\t', '[', '{', ',', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[&str]) -> Yaml {
        Yaml::List(items.iter().map(|&item| item.to_owned()).collect())
    }

    #[test]
    fn what_descriptions_use_is_read() {
        let text = "# COCO\npath: ../data set # the root\r\ntrain: 'a''b/images'\nval:\n- \"x\\ty\"\n- z # last\n\
            test:\nnames: ['dog', \"cat, big\",\n  person's hat, # one\n  yes]\nnested:\n  path: wrong\n  - [\n\
            block: |\n  names: no\nmap:\n  0: person\n  1: 'traffic light'\nflow: {0: a, 1: 'b: c'}\nnc: 2\n";
        let get = |key: &str| find(text, key).unwrap();
        assert_eq!(get("path"), Some(Yaml::Text("../data set".to_owned())));
        assert_eq!(get("train"), Some(Yaml::Text("a'b/images".to_owned())));
        assert_eq!(get("val"), Some(texts(&["x\ty", "z"])));
        assert_eq!(get("test"), Some(Yaml::Nothing));
        assert_eq!(get("names"), Some(texts(&["dog", "cat, big", "person's hat", "yes"])));
        let pairs = |a: &str, b: &str| Yaml::Map(vec![("0".into(), a.into()), ("1".into(), b.into())]);
        assert_eq!(get("map"), Some(pairs("person", "traffic light")));
        assert_eq!(get("flow"), Some(pairs("a", "b: c")));
        assert_eq!((get("nc"), get("missing")), (Some(Yaml::Text("2".to_owned())), None));
    }

    #[test]
    fn the_rest_is_refused() {
        for (text, what) in [
            ("names: *other", "line 1: `names` has `*other`"),
            ("a: 1\nnames: [a, [b]]", "line 2: `names` has lists in lists"),
            ("names: [a, b", "no `]` at its end"),
            ("names: |\n  a", "several lines"),
            ("names:\n  0: a\n  b", "no `key: value`"),
            ("names:\n- a\n  b: c", "no item of its list"),
            ("names: 'a", "does not know"),
            ("names: \"\\q\"", "does not know"),
        ] {
            let message = find(text, "names").unwrap_err();
            assert!(message.contains(what), "{text}: {message}");
        }
    }
}
