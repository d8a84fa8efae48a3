//! From paths and arguments to a source: the entry of the table of formats.

use crate::{
    bytes::Stored,
    error::{Error as Inner, Result as InnerResult},
    file::Contents,
    join::join,
    source::{RootSource, TreeFile},
    table::Table,
};
use infeed_core::{
    Can, Error, FormatEntry, Found, Magic, OpenRequest, Opened, Param, Result, Shard, Store, parallel,
    registry,
};
use std::sync::Arc;

/// The table row of this format.
pub const ENTRY: FormatEntry = FormatEntry {
    name: "root",
    about: "ROOT files: the entries of a tree or an n-tuple as rows",
    details: "\
The fields are the names of branches, `branch.leaf` where a branch has several leaves. Numbers and bool are scalars, `x[2][3]` is an array of \
that shape, `pt[nMuon]` and `std::vector` of numbers are arrays of any length, and texts (`TLeafC`) are text. Without `branches`, all are taken \
that can be read; `explain()` tells what was left out. Only the baskets of wanted branches are read. Several files are laid end to end.

Fields of an n-tuple (`RNTuple`) are read in the same way: numbers, `std::array`, `std::vector` of numbers and of records, `std::string`. Members of \
records are `record.member`.

Trees of the same file with as many entries can be joined by number (`friends`): their fields stand beside those of the tree, as `friend.field` where \
the name is taken.

Objects of other classes are refused by name.",
    params: &[TREE, BRANCHES, FRIENDS],
    endings: &[".root"],
    magic: &[Magic { at: 0, bytes: b"root" }],
    can: Can { blocks: true, ..Can::ROWS },
    recognise: None,
    recognise_folder: None,
    open,
};

const TREE: Param = Param {
    name: "tree",
    python: "str | None",
    default: Some("null"),
    about: "the tree or n-tuple to read, with its directories: `Events`, `analysis/Events`; the only one if not given",
};
const BRANCHES: Param = Param {
    name: "branches",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "the branches or fields to read; all that can be read if not given",
};

const FRIENDS: Param = Param {
    name: "friends",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "trees or n-tuples of the same files, whose entries belong to those of `tree` by number",
};

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let wanted = if args.is_none("branches") { None } else { Some(args.texts("branches")?) };
    let friends = if args.is_none("friends") { None } else { Some(args.texts("friends")?) };
    for (argument, names) in [("branches", &wanted), ("friends", &friends)] {
        let Some(names) = names else { continue };
        if names.is_empty() {
            return Err(args.error(argument, "must name at least one"));
        }
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, one)| names[..*at].contains(one)) {
            return Err(args.error(argument, &format!("has `{twice}` twice")));
        }
    }
    let friends = friends.unwrap_or_default();
    let tree = if args.is_none("tree") { None } else { Some(args.text("tree")?) };
    let shards = files(request)?;
    let files = parallel::map(shards.len(), request.threads, |at| {
        let shard = &shards[at];
        let bytes = Stored { store: Arc::clone(request.store), shard: shard.clone() };
        let tree = read(&bytes, tree, &friends).map_err(|error| error.of_file(&shard.name))?;
        Ok(TreeFile { bytes, tree })
    })?;
    let store: Arc<dyn Store> = Arc::clone(request.store);
    Ok(Opened::Rows(Arc::new(RootSource::build(store, files, wanted.as_deref())?)))
}

fn read(bytes: &Stored, tree: Option<&str>, friends: &[String]) -> InnerResult<Table> {
    let contents = Contents::read(bytes)?;
    let table = |name: Option<&str>| contents.tree(bytes, contents.choose(bytes, name)?);
    let main = table(tree)?;
    let friends: Vec<Table> = friends.iter().map(|name| table(Some(name))).collect::<InnerResult<_>>()?;
    if let Some(own) = friends.iter().find(|friend| friend.path == main.path) {
        return Err(Inner::Request(format!("the tree `{}` is named as its own friend", own.path)));
    }
    join(main, friends)
}

/// Finds the files that the paths stand for, in order.
fn files(request: &OpenRequest<'_>) -> Result<Vec<Shard>> {
    let mut names = Vec::new();
    for path in request.paths {
        for found in request.store.find(path)? {
            match found {
                Found::File(name) => names.push(name),
                Found::Folder(folder) => {
                    let listed = match request.listed {
                        Some(names) if request.paths.len() == 1 => names.to_vec(),
                        _ => request.store.names(&folder)?,
                    };
                    let own = |name: &String| {
                        let rest = name.strip_prefix(&folder).unwrap_or(name).trim_start_matches('/');
                        let hidden = rest.split('/').any(|part| part.starts_with(['.', '_']));
                        !hidden && request.entry.has_ending(name)
                    };
                    let mut inside: Vec<String> = listed.into_iter().filter(own).collect();
                    if inside.is_empty() {
                        let hint = "; there is no .root file in it".to_owned();
                        return Err(Error::NotFound { path: path.clone(), hint });
                    }
                    inside.sort();
                    names.append(&mut inside);
                }
            }
        }
    }
    let shards = request.store.stat(&names)?;
    if shards.is_empty() {
        return Err(Error::argument("there is no .root file to read"));
    }
    Ok(shards)
}

/// The numbers of the columns of a tree that are wanted, and the names of those that were left out.
pub(crate) fn choose(tree: &Table, wanted: Option<&[String]>) -> InnerResult<(Vec<usize>, Vec<String>)> {
    let Some(wanted) = wanted else {
        if let Some(bad) = tree.refused.iter().find(|refused| refused.damaged) {
            let what = format!("branch `{}`: {}; leave it out with branches=", bad.name, bad.why);
            return Err(Inner::damaged(0, what));
        }
        let left = tree.refused.iter().map(|refused| format!("{} ({})", refused.name, refused.why)).collect();
        if tree.fields.is_empty() {
            return Err(Inner::Request(format!("the tree `{}` has no branch that can be read", tree.path)));
        }
        return Ok(((0..tree.fields.len()).collect(), left));
    };
    let one = |name: &String| {
        if let Some(found) = tree.fields.iter().position(|field| *field.name == **name) {
            return Ok(found);
        }
        if let Some(refused) = tree.refused.iter().find(|refused| refused.name == *name) {
            let what = format!("branch `{name}` cannot be read: {}", refused.why);
            return Err(if refused.damaged { Inner::damaged(0, what) } else { Inner::Unsupported(what) });
        }
        const SHOWN: usize = 20;
        let has: Vec<&str> = tree.names().collect();
        let near = registry::nearest(name, &has).map(|near| format!("; did you mean `{near}`?"));
        let mut shown = has.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
        if has.len() > SHOWN {
            shown += &format!(" and {} more", has.len() - SHOWN);
        }
        let near = near.unwrap_or_default();
        Err(Inner::Request(format!(
            "the tree `{}` has no branch `{name}`{near} (it has: {shown})",
            tree.path
        )))
    };
    Ok((wanted.iter().map(one).collect::<InnerResult<_>>()?, Vec::new()))
}
