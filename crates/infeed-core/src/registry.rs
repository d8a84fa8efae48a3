//! Tables of plug-ins: one [`Entry`] is used for lookup, `infeed list`, the docs table and the Python stubs.

use crate::{Dtype, Error, Result};
use serde_json::{Map, Value as Json};

/// One argument of a plug-in.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Name, as in Python.
    pub name: &'static str,
    /// Python type, as in the stubs.
    pub python: &'static str,
    /// Default as JSON; `None` means that the argument must be given.
    pub default: Option<&'static str>,
    /// What it does.
    pub about: &'static str,
}

impl Param {
    /// Whether Python must pass it: it has no default, or none that its type allows. The latter is checked where the
    /// argument is used, so that the error can say more.
    pub fn is_required(&self) -> bool {
        self.default.is_none() || self.default == Some("null") && !self.python.contains("None")
    }
}

/// One plug-in of a stage.
#[derive(Debug)]
pub struct Entry<T: ?Sized + 'static> {
    /// The name users write.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Its arguments, in the positional order of Python.
    pub params: &'static [Param],
    /// Builds it.
    pub build: fn(&Args) -> Result<Box<T>>,
}

impl<T: ?Sized> Entry<T> {
    /// Checks the arguments against [`Entry::params`], fills in defaults and builds.
    pub fn make(&self, given: &Map<String, Json>) -> Result<Box<T>> {
        let args = Args::new(self.name, self.params, given)?;
        (self.build)(&args)
    }
}

/// Finds an entry. The error lists all of them.
pub fn find<'a, T: ?Sized>(table: &'a [&'a Entry<T>], name: &str, what: &str) -> Result<&'a Entry<T>> {
    table.iter().copied().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|e| e.name).collect();
        let near = nearest(name, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        Error::argument(format!("there is no {what} `{name}`{near} (there are: {})", names.join(", ")))
    })
}

/// Returns the name that is a typo away from `wrong`, if there is one.
pub fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    names
        .iter()
        .map(|n| (edits(&lower, &n.to_lowercase()), *n))
        .min()
        .filter(|(d, n)| *d <= 2.max(n.len() / 4))
        .map(|(_, n)| n)
}

/// Returns the edit distance of two short names.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(ca != *cb)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

/// The checked arguments of one plug-in.
#[derive(Debug, Clone)]
pub struct Args {
    owner: &'static str,
    values: Map<String, Json>,
}

impl Args {
    /// Checks the given arguments against the parameters of `owner` and fills in defaults.
    pub fn new(owner: &'static str, params: &[Param], given: &Map<String, Json>) -> Result<Args> {
        let names: Vec<&str> = params.iter().map(|p| p.name).collect();
        if let Some(wrong) = given.keys().find(|k| !names.contains(&k.as_str())) {
            let near = nearest(wrong, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            let takes = if names.is_empty() { "no arguments".to_owned() } else { names.join(", ") };
            return Err(Error::argument(format!(
                "{owner} has no argument `{wrong}`{near} (it takes {takes})"
            )));
        }
        let mut values = Map::new();
        for param in params {
            let value = match (given.get(param.name), param.default) {
                (Some(value), _) => value.clone(),
                (None, Some(default)) => serde_json::from_str(default).map_err(|e| Error::Internal {
                    what: format!("default of {owner}.{}: {e}", param.name),
                })?,
                (None, None) => {
                    return Err(Error::argument(format!(
                        "{owner} needs the argument `{}`: {}",
                        param.name, param.about
                    )));
                }
            };
            values.insert(param.name.to_owned(), value);
        }
        Ok(Args { owner, values })
    }

    /// Creates an error about one argument.
    pub fn error(&self, name: &str, what: &str) -> Error {
        let got = self.values.get(name).map(Json::to_string).unwrap_or_default();
        Error::argument(format!("{}: {name} {what}, got {got}", self.owner))
    }

    fn get(&self, name: &str) -> &Json {
        self.values.get(name).unwrap_or(&Json::Null)
    }

    /// Returns the argument as given; `None` if it is None or does not exist.
    pub fn value(&self, name: &str) -> Option<&Json> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// Whether the argument is None.
    pub fn is_none(&self, name: &str) -> bool {
        self.get(name).is_null()
    }

    /// Returns an integer of at least `least`.
    pub fn int(&self, name: &str, least: i64) -> Result<i64> {
        match self.get(name).as_i64() {
            Some(n) if n >= least => Ok(n),
            _ => Err(self.error(name, &format!("must be a whole number of at least {least}"))),
        }
    }

    /// Returns a finite number.
    pub fn float(&self, name: &str) -> Result<f64> {
        self.get(name).as_f64().filter(|x| x.is_finite()).ok_or_else(|| self.error(name, "must be a number"))
    }

    /// Returns a number in `0..=1`.
    pub fn probability(&self, name: &str) -> Result<f64> {
        let p = self.float(name)?;
        if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(self.error(name, "must be between 0 and 1")) }
    }

    /// Returns a boolean.
    pub fn flag(&self, name: &str) -> Result<bool> {
        self.get(name).as_bool().ok_or_else(|| self.error(name, "must be True or False"))
    }

    /// Returns a text.
    pub fn text(&self, name: &str) -> Result<&str> {
        self.get(name).as_str().ok_or_else(|| self.error(name, "must be text"))
    }

    /// Returns a list of texts; a single text is a list of one.
    pub fn texts(&self, name: &str) -> Result<Vec<String>> {
        let bad = || self.error(name, "must be a list of texts");
        let one = |x: &Json| x.as_str().map(str::to_owned).ok_or_else(bad);
        match self.get(name) {
            Json::Array(items) => items.iter().map(one).collect(),
            x => Ok(vec![one(x)?]),
        }
    }

    /// Returns the names and texts of a dict; `None` for anything else.
    pub fn pairs(&self, name: &str) -> Result<Option<Vec<(String, String)>>> {
        let Json::Object(items) = self.get(name) else { return Ok(None) };
        let one = |(key, x): (&String, &Json)| {
            let text = x.as_str().ok_or_else(|| self.error(name, "must have a text for every name"))?;
            Ok((key.clone(), text.to_owned()))
        };
        items.iter().map(one).collect::<Result<_>>().map(Some)
    }

    /// Returns a list of numbers; a single number is a list of one.
    pub fn floats(&self, name: &str) -> Result<Vec<f64>> {
        let bad = || self.error(name, "must be a number or a list of numbers");
        match self.get(name) {
            Json::Array(items) => {
                items.iter().map(|x| x.as_f64().filter(|x| x.is_finite()).ok_or_else(bad)).collect()
            }
            one => Ok(vec![one.as_f64().filter(|x| x.is_finite()).ok_or_else(bad)?]),
        }
    }

    /// Returns two numbers.
    pub fn pair(&self, name: &str) -> Result<(f64, f64)> {
        match self.floats(name)?.as_slice() {
            [a, b] => Ok((*a, *b)),
            _ => Err(self.error(name, "must be two numbers")),
        }
    }

    /// Returns a list of integers, each at least `least`; a single one is a list of one.
    pub fn ints(&self, name: &str, least: i64) -> Result<Vec<i64>> {
        let bad =
            || self.error(name, &format!("must be a whole number of at least {least}, or a list of them"));
        let one = |x: &Json| x.as_i64().filter(|n| *n >= least).ok_or_else(bad);
        match self.get(name) {
            Json::Array(items) => items.iter().map(one).collect(),
            x => Ok(vec![one(x)?]),
        }
    }

    /// Returns an image size as in torchvision: `n` or `(height, width)`.
    pub fn size(&self, name: &str) -> Result<(u32, u32)> {
        let sides = self.ints(name, 1)?;
        let side = |n: i64| u32::try_from(n).ok().filter(|n| *n <= 65_535);
        match sides.as_slice() {
            [n] => side(*n).zip(side(*n)),
            [h, w] => side(*h).zip(side(*w)),
            _ => None,
        }
        .ok_or_else(|| self.error(name, "must be a size or (height, width), each 1 to 65535"))
    }

    /// Returns a dtype.
    pub fn dtype(&self, name: &str) -> Result<Dtype> {
        let known: Vec<&str> = Dtype::ALL.iter().map(|d| d.name()).collect();
        Dtype::parse(self.text(name)?)
            .ok_or_else(|| self.error(name, &format!("must be one of {}", known.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param { name: "size", python: "int", default: None, about: "the size" },
        Param { name: "scale", python: "bool", default: Some("false"), about: "whether to scale" },
    ];

    fn args(json: &str) -> Result<Args> {
        Args::new("Resize", PARAMS, &serde_json::from_str(json).unwrap())
    }

    #[test]
    fn defaults_are_filled_in() {
        let args = args(r#"{"size": 3}"#).unwrap();
        assert_eq!(args.size("size").unwrap(), (3, 3));
        assert!(!args.flag("scale").unwrap());
    }

    #[test]
    fn slips_are_named() {
        assert!(
            args(r#"{"size": 3, "scal": true}"#).unwrap_err().to_string().contains("did you mean `scale`")
        );
        assert!(args("{}").unwrap_err().to_string().contains("needs the argument `size`"));
        assert!(args(r#"{"size": -1}"#).unwrap().size("size").unwrap_err().to_string().contains("got -1"));
        assert!(args(r#"{"size": [1, 2, 3]}"#).unwrap().size("size").is_err());
    }
}
