//! Schemas as JSON: what is checked and put right before the library sees them.

use crate::shard::depth;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, HashSet};

/// Types that need no definition.
const PRIMITIVE: [&str; 8] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];

/// Most parts of a type once every name in it stands for what it means. Names can double a type again and again.
const MOST: u64 = 100_000;

/// A schema that can be read.
#[derive(Debug)]
pub(super) struct AvroTypes {
    /// With full names everywhere.
    pub(super) root: Json,
    /// What names stand for.
    named: BTreeMap<String, Json>,
    /// The fewest bytes of a record.
    pub(super) width: u64,
}

/// What is known of a type.
#[derive(Debug, Clone, Copy, Default)]
struct Measure {
    /// Fewest bytes of a value. Only what has no bytes at all can have 0.
    width: u64,
    parts: u64,
    depth: usize,
}

/// Measures of names; none while a type is being looked at.
type Known = BTreeMap<String, Option<Measure>>;

impl AvroTypes {
    /// Takes a schema apart; in words, why it cannot be read.
    pub(super) fn new(text: &[u8]) -> Result<Self, String> {
        let mut root: Json = serde_json::from_slice(text).map_err(|e| match e.to_string() {
            text if text.contains("recursion limit") => depth::too_deep(),
            text => format!("it is no JSON: {text}"),
        })?;
        let mut named = BTreeMap::new();
        full_names(&mut root, "", &mut named)?;
        if root.get("type").and_then(Json::as_str) != Some("record") {
            return Err("its rows are no records".to_owned());
        }
        let mut types = AvroTypes { root: Json::Null, named, width: 0 };
        let measure = types.measure(&root, 2 * depth::DEEPEST, &mut Known::new())?;
        if measure.width == 0 {
            return Err(
                "its records have no fields, or only fields of nulls: there is nothing to read".to_owned()
            );
        }
        (types.root, types.width) = (root, measure.width);
        Ok(types)
    }

    /// Follows names; every value that is read later is bounded by what is found here.
    fn measure(&self, of: &Json, deep: usize, known: &mut Known) -> Result<Measure, String> {
        let Some(below) = deep.checked_sub(1) else { return Err(depth::too_deep()) };
        let leaf = |width| Ok(Measure { width, parts: 1, depth: 0 });
        match of {
            Json::String(name) => match name.as_str() {
                "null" => leaf(0),
                "float" => leaf(4),
                "double" => leaf(8),
                name if PRIMITIVE.contains(&name) => leaf(1),
                name => {
                    if let Some(known) = known.get(name) {
                        return known.ok_or_else(|| format!("the type `{name}` contains itself"));
                    }
                    let of = self.named.get(name).ok_or_else(|| format!("there is no type `{name}`"))?;
                    self.measure(of, below, known)
                }
            },
            Json::Array(branches) => {
                // The number of the branch comes first.
                let mut all = Measure { width: 1, parts: 1, depth: 0 };
                for branch in branches {
                    all.add(self.measure(branch, below, known)?, 0, 0)?;
                }
                Ok(all)
            }
            Json::Object(about) => match (about.get("type"), kind(about)) {
                (_, Some("record" | "error")) => {
                    let name = own_name(about).unwrap_or_default();
                    known.insert(name.clone(), None);
                    let mut all = Measure { width: 0, parts: 1, depth: 0 };
                    for field in fields(about) {
                        let of = field.get("type").ok_or("a field has no type")?;
                        all.add(self.measure(of, below, known)?, 1, 1)?;
                    }
                    known.insert(name, Some(all));
                    Ok(all)
                }
                (_, Some("enum")) => leaf(1),
                (_, Some("fixed")) => leaf(about.get("size").and_then(Json::as_u64).unwrap_or(0)),
                (_, Some(list @ ("array" | "map"))) => {
                    let key = if list == "array" { "items" } else { "values" };
                    let of = about.get(key).ok_or_else(|| format!("a type `{list}` has no {key}"))?;
                    let items = self.measure(of, below, known)?;
                    if list == "array" && items.width == 0 {
                        // Its length would cost nothing: a few bytes could say that it has billions of items.
                        return Err("it has arrays of items without any bytes, such as null: leave them out"
                            .to_owned());
                    }
                    let mut all = Measure { width: 1, parts: 1, depth: 0 };
                    all.add(items, 0, 1)?;
                    Ok(all)
                }
                (Some(of), _) => self.measure(of, below, known),
                (None, _) => Err("a type says nothing of itself".to_owned()),
            },
            _ => Err(format!("`{of}` is no type")),
        }
    }

    /// The schema with some of its fields. What they name is put where the name stands first, if its definition is not among
    /// them.
    pub(super) fn project(&self, columns: &[usize]) -> Json {
        let mut root = self.root.as_object().cloned().unwrap_or_default();
        let all: Vec<Json> = fields(&root).cloned().collect();
        let mut defined = HashSet::new();
        let mut kept: Vec<Json> = columns.iter().filter_map(|column| all.get(*column).cloned()).collect();
        for field in &mut kept {
            if let Some(of) = field.get_mut("type") {
                self.define(of, &mut defined);
            }
        }
        root.insert("fields".to_owned(), Json::Array(kept));
        Json::Object(root)
    }

    /// Makes every name that is not defined yet its definition, and every second definition a name.
    fn define(&self, of: &mut Json, defined: &mut HashSet<String>) {
        match of {
            Json::String(name) => {
                if !defined.contains(name)
                    && let Some(meant) = self.named.get(name)
                {
                    *of = meant.clone();
                    self.define(of, defined);
                }
            }
            Json::Array(branches) => branches.iter_mut().for_each(|branch| self.define(branch, defined)),
            Json::Object(about) => {
                if let Some(name) = own_name(about)
                    && !defined.insert(name.clone())
                {
                    *of = Json::String(name);
                    return;
                }
                if let Some(inner) = inner_key(about).and_then(|key| about.get_mut(key)) {
                    self.define(inner, defined);
                }
                for field in about.get_mut("fields").and_then(Json::as_array_mut).into_iter().flatten() {
                    if let Some(inner) = field.get_mut("type") {
                        self.define(inner, defined);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Measure {
    /// Adds a part; its width as often as it is said, and so many levels deeper.
    fn add(&mut self, part: Measure, times: u64, levels: usize) -> Result<(), String> {
        self.width = self.width.saturating_add(part.width * times);
        self.depth = self.depth.max(part.depth + levels);
        // The record of a row is no level of a column.
        if self.depth > depth::DEEPEST + 1 {
            return Err(depth::too_deep());
        }
        self.parts = self.parts.saturating_add(part.parts);
        if self.parts > MOST {
            return Err(format!("its types have more than {MOST} parts once all names are resolved"));
        }
        Ok(())
    }
}

/// The word that says what an object describes, where it is none of the primitive types and no name.
fn kind(about: &Map<String, Json>) -> Option<&str> {
    about.get("type").and_then(Json::as_str).filter(|_| about.get("type").is_some_and(is_kind))
}

fn is_kind(of: &Json) -> bool {
    matches!(of.as_str(), Some("record" | "error" | "enum" | "fixed" | "array" | "map"))
}

/// Where the type stands that an object is made of.
fn inner_key(about: &Map<String, Json>) -> Option<&'static str> {
    match kind(about) {
        Some("array") => Some("items"),
        Some("map") => Some("values"),
        Some(_) => None,
        None => Some("type"),
    }
}

fn fields(about: &Map<String, Json>) -> impl Iterator<Item = &Json> {
    about.get("fields").and_then(Json::as_array).into_iter().flatten()
}

/// The full name of a definition whose names were made full.
fn own_name(about: &Map<String, Json>) -> Option<String> {
    matches!(kind(about)?, "record" | "error" | "enum" | "fixed").then_some(())?;
    let name = about.get("name")?.as_str()?;
    let space = about.get("namespace").and_then(Json::as_str).unwrap_or("");
    Some(full(name, space))
}

fn full(name: &str, space: &str) -> String {
    if space.is_empty() || name.contains('.') { name.to_owned() } else { format!("{space}.{name}") }
}

/// Writes every name in full, so that it means the same wherever it stands, and collects definitions. Names may already be
/// written with their namespace, which the library does not take apart.
fn full_names(of: &mut Json, space: &str, named: &mut BTreeMap<String, Json>) -> Result<(), String> {
    match of {
        Json::String(name) => {
            if !PRIMITIVE.contains(&name.as_str()) {
                // A name without a dot belongs to the namespace around it; older files also mean one of none.
                let near = full(name, space);
                if named.contains_key(&near) || !named.contains_key(name.as_str()) {
                    *name = near;
                }
            }
            Ok(())
        }
        Json::Array(branches) => branches.iter_mut().try_for_each(|branch| full_names(branch, space, named)),
        Json::Object(about) => {
            let mut inside = space.to_owned();
            let defines = matches!(kind(about), Some("record" | "error" | "enum" | "fixed"));
            if defines {
                let name = about.get("name").and_then(Json::as_str).ok_or("a type has no name")?;
                let own = about.get("namespace").and_then(Json::as_str).unwrap_or(space);
                let name = full(name, own);
                let (own, short) = name.rsplit_once('.').unwrap_or(("", &name));
                inside = own.to_owned();
                let short = short.to_owned();
                if !inside.is_empty() || about.contains_key("namespace") {
                    about.insert("namespace".to_owned(), Json::String(inside.clone()));
                }
                about.insert("name".to_owned(), Json::String(short));
                // Inside of itself it is known by name.
                named.entry(name).or_insert(Json::Null);
            }
            if let Some(inner) = inner_key(about).and_then(|key| about.get_mut(key)) {
                full_names(inner, &inside, named)?;
            }
            for field in about.get_mut("fields").and_then(Json::as_array_mut).into_iter().flatten() {
                if let Some(inner) = field.get_mut("type") {
                    full_names(inner, &inside, named)?;
                }
            }
            if let Some(name) = own_name(about) {
                named.insert(name, of.clone());
            }
            Ok(())
        }
        _ => Err(format!("`{of}` is no type")),
    }
}

#[cfg(test)]
mod tests;
