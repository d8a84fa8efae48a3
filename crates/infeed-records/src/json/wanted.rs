//! Finds the wanted fields in a row.

use super::scan::{Fault, Raw, Scan};
use infeed_core::Result;

/// Field names as a tree: `meta.lang` is the key `lang` of the object `meta`, or a key with that literal name.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    root: Node,
    len: usize,
}

#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<Child>,
}

#[derive(Debug, Clone)]
struct Child {
    key: Box<[u8]>,
    /// Where the value goes, if it is wanted itself.
    slot: Option<usize>,
    /// What is wanted of it, if it is an object.
    node: Node,
}

impl Wanted {
    /// Creates a set of fields by name; the first one is at index 0.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut wanted = Wanted::default();
        for name in names {
            wanted.root.add(name, wanted.len);
            wanted.len += 1;
        }
        wanted
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Node {
    fn add(&mut self, name: &str, slot: usize) {
        self.child(name).slot = Some(slot);
        for (dot, _) in name.match_indices('.') {
            let (first, rest) = (&name[..dot], &name[dot + 1..]);
            if !first.is_empty() && !rest.is_empty() {
                self.child(first).node.add(rest, slot);
            }
        }
    }

    fn child(&mut self, key: &str) -> &mut Child {
        let at = self.children.iter().position(|child| &*child.key == key.as_bytes());
        let at = at.unwrap_or_else(|| {
            self.children.push(Child { key: key.as_bytes().into(), slot: None, node: Node::default() });
            self.children.len() - 1
        });
        &mut self.children[at]
    }
}

/// Writes the wanted values of a row to `out`, which has one slot for each. Of duplicate keys the last
/// counts, as in most parsers.
pub fn extract<'a>(line: &'a [u8], wanted: &Wanted, out: &mut [Option<Raw<'a>>]) -> Result<()> {
    out.fill(None);
    let mut scan = Scan::new(line);
    scan.expect(b'{', "`{`")?;
    object(&mut scan, &wanted.root, out)?;
    Ok(scan.end()?)
}

/// Scans an object whose opening brace has been consumed.
fn object<'a>(scan: &mut Scan<'a>, node: &Node, out: &mut [Option<Raw<'a>>]) -> Result<(), Fault> {
    if scan.peek()? == b'}' {
        scan.at += 1;
        return Ok(());
    }
    // Rows usually have their keys in the same order, so the next wanted key is likely the one
    // after the last one found.
    let mut likely = 0;
    loop {
        if scan.peek()? != b'"' {
            return Err(Fault::Wrong(scan.at, "a key"));
        }
        let (key, escaped) = scan.text()?;
        scan.expect(b':', "`:`")?;
        let is = |child: &Child| {
            *child.key == *key
                || (escaped && super::value::text(key, true).is_ok_and(|k| k.as_bytes() == &*child.key))
        };
        let found = match node.children.get(likely) {
            Some(child) if is(child) => Some(likely),
            _ => node.children.iter().position(is),
        };
        match found.map(|at| (at, &node.children[at])) {
            None => drop(scan.value()?),
            Some((at, child)) => {
                likely = at + 1;
                let start = scan.peek().map(|first| (first, scan.at))?;
                if start.0 == b'{' && !child.node.children.is_empty() {
                    scan.at += 1;
                    object(scan, &child.node, out)?;
                    if let Some(place) = child.slot.and_then(|slot| out.get_mut(slot)) {
                        *place = Some(Raw::Object(&scan.bytes[start.1..scan.at]));
                    }
                } else {
                    let raw = scan.value()?;
                    if let Some(place) = child.slot.and_then(|slot| out.get_mut(slot)) {
                        *place = Some(raw);
                    }
                }
            }
        }
        match scan.peek()? {
            b',' => scan.at += 1,
            b'}' => {
                scan.at += 1;
                return Ok(());
            }
            _ => return Err(Fault::Wrong(scan.at, "`,` or `}`")),
        }
    }
}
