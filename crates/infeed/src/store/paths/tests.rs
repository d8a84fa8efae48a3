use super::*;
use std::fs;

fn expanded(form: &str) -> Vec<String> {
    braces(form).unwrap()
}

#[test]
fn braces_expand_as_in_a_shell() {
    assert_eq!(expanded("plain.tar"), ["plain.tar"]);
    assert_eq!(
        expanded("t-{000008..000011}.tar"),
        ["t-000008.tar", "t-000009.tar", "t-000010.tar", "t-000011.tar"]
    );
    assert_eq!(expanded("{3..1}"), ["3", "2", "1"]);
    assert_eq!(expanded("{-1..1}"), ["-1", "0", "1"]);
    assert_eq!(expanded("{08..10}"), ["08", "09", "10"]);
    assert_eq!(expanded("{8..10}"), ["8", "9", "10"]);
    assert_eq!(expanded("{1..7..3}"), ["1", "4", "7"]);
    assert_eq!(expanded("{7..1..3}"), ["7", "4", "1"]);
    assert_eq!(expanded("{a..c}"), ["a", "b", "c"]);
    assert_eq!(expanded("{a,b}/{1..2}"), ["a/1", "a/2", "b/1", "b/2"]);
    assert_eq!(expanded("{a,b{1..2},}x"), ["ax", "b1x", "b2x", "x"]);
    assert_eq!(expanded("{{1..2},{a,b}}"), ["1", "2", "a", "b"]);
}

#[test]
fn braces_without_a_choice_are_text() {
    assert_eq!(expanded("{a}"), ["{a}"]);
    assert_eq!(expanded("{}"), ["{}"]);
    assert_eq!(expanded("a{b"), ["a{b"]);
    assert_eq!(expanded("a}b{1..2}"), ["a}b1", "a}b2"]);
    assert_eq!(expanded("{x{1..2}}"), ["{x1}", "{x2}"]);
    assert_eq!(expanded("{1..b}"), ["{1..b}"]);
}

#[test]
fn patterns_of_any_length_end() {
    // Many groups, deep groups, groups that do not close: neither the stack nor the time may run out.
    assert_eq!(expanded(&"{a,}".repeat(2)), ["aa", "a", "a", ""]);
    assert!(braces(&"{a,b}".repeat(200_000)).is_err());
    assert_eq!(expanded(&"{a}".repeat(200_000)).len(), 1);
    for form in ["{".repeat(1 << 20), "{".repeat(200_000) + &"}".repeat(200_000), "{a,".repeat(200_000)] {
        assert!(braces(&form).unwrap_err().to_string().contains("more than 100 deep"));
    }
    // Few names, but long ones.
    let long = format!("{}{{0..9999}}", "x".repeat(1 << 20));
    assert!(braces(&long).unwrap_err().to_string().contains("1 GiB"));
    let zeros = format!("{{{}1..2}}", "0".repeat(70_000));
    assert_eq!(expanded(&zeros), [zeros]);
    let wide = expanded("{-9223372036854775808..9223372036854775807..9223372036854775807}");
    assert_eq!(wide, ["-9223372036854775808", "-1", "9223372036854775806"]);
}

#[test]
fn absurd_braces_are_refused() {
    for form in
        ["{0..99999999999}", "{1..9999}{1..9999}{1..9999}", "{a,{0..99999999}}", "{-9223372036854775808..9}"]
    {
        assert!(matches!(braces(form), Err(Error::Argument { .. })), "{form}");
    }
}

#[test]
fn forms_find_files_and_folders() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    fs::create_dir_all(dir.path().join("deep/er")).unwrap();
    for name in ["t-1.tar", "t-0.tar", "odd[1].tar", "deep/er/x.tar"] {
        fs::write(dir.path().join(name), b"").unwrap();
    }
    let file = |name: &str| Found::File(format!("{root}/{name}"));
    let look = |form: String| find(&[form]).unwrap();
    assert_eq!(look(format!("{root}/t-*.tar")), [file("t-0.tar"), file("t-1.tar")]);
    assert_eq!(look(format!("{root}/t-{{1..0}}.tar")), [file("t-1.tar"), file("t-0.tar")]);
    assert_eq!(look(format!("{root}/t-[0]?tar")), [file("t-0.tar")]);
    assert_eq!(look(format!("{root}/odd[1].tar")), [file("odd[1].tar")]);
    assert_eq!(look(format!("{root}/**/x.tar")), [file("deep/er/x.tar")]);
    assert_eq!(look(format!("file://{root}/t-0.tar::{root}/t-1.tar")), [file("t-0.tar"), file("t-1.tar")]);
    assert_eq!(look(format!("file:{root}/t-0.tar")), [file("t-0.tar")]);
    assert_eq!(look(format!("{root}/deep/")), [Found::Folder(format!("{root}/deep"))]);
    assert_eq!(find(&[format!("{root}/t-0.tar"), format!("{root}/deep")]).unwrap().len(), 2);
}

#[test]
fn one_folder_is_matched_as_glob_does_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    for name in ["t-10.tar", "t-9.tar", ".t-0.tar", "t-1.txt", "t-é.tar"] {
        fs::write(dir.path().join(name), b"").unwrap();
    }
    fs::create_dir(dir.path().join("t-folder.tar")).unwrap();
    std::os::unix::fs::symlink("t-9.tar", dir.path().join("t-link.tar")).unwrap();
    for pattern in ["*", "t-*.tar", "t-?.tar", "t-[0-9]*", "*.txt", "t-[!1]*"] {
        let pattern = format!("{root}/{pattern}");
        assert!(simple(&pattern).is_some());
        let theirs: Vec<String> =
            glob::glob(&pattern).unwrap().map(|p| p.unwrap().to_str().unwrap().to_owned()).collect();
        let ours = find(&[&pattern]).unwrap();
        let mut sorted = theirs.clone();
        sorted.sort();
        assert_eq!(ours.iter().map(|f| f.name().to_owned()).collect::<Vec<_>>(), sorted, "{pattern}");
        for found in ours {
            assert_eq!(matches!(found, Found::Folder(_)), found.name().ends_with("t-folder.tar"));
        }
    }
    for left in ["*.tar", "./a/*", "a//*", "a/../*", "a*/b*", "a/**", "**/x", "a/*/"] {
        assert_eq!(simple(left), None, "{left}");
    }
    let many: Vec<String> = (0..600).map(|i| format!("{root}/m-{i:03}")).collect();
    many.iter().for_each(|name| fs::write(name, b"").unwrap());
    let found = find(&[format!("{root}/m-{{000..599}}")]).unwrap();
    assert_eq!(found.iter().map(|f| f.name().to_owned()).collect::<Vec<_>>(), many);
    let error = find(&[format!("{root}/m-{{000..700}}")]).unwrap_err().to_string();
    assert!(error.contains("m-600"), "{error}");
}

#[test]
fn what_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    fs::write(dir.path().join("train.tar"), b"").unwrap();
    let message = |form: String| find(&[form]).unwrap_err().to_string();
    let slip = message(format!("{root}/tran.tar"));
    assert!(
        slip.contains(&format!("nearest folder that exists is `{root}`, which has `train.tar`")),
        "{slip}"
    );
    let deep = message(format!("{root}/a/b/c.tar"));
    assert!(deep.contains(&format!("is `{root}`")), "{deep}");
    let below_file = message(format!("{root}/train.tar/x"));
    assert!(below_file.contains("train.tar"), "{below_file}");
    let pattern = message(format!("{root}/*.parquet"));
    assert!(pattern.contains("no file matches"), "{pattern}");
    assert!(message(format!("{root}/t-{{0..3}}.tar")).contains("t-0.tar"));
}

#[test]
fn other_schemes_say_so() {
    for form in ["ftp://host/x.tar", "hdfs://host/x-{0..3}.tar", "pipe:cat x.tar"] {
        let error = find(&[form]).unwrap_err();
        assert!(matches!(error, Error::Argument { .. }), "{error}");
        assert!(error.to_string().contains("there is no store for `"), "{error}");
    }
    assert!(find(&["file://elsewhere/x"]).unwrap_err().to_string().contains("another host"));
    assert!(find(&[""]).is_err());
    assert!(find::<&str>(&[]).is_err());
}

#[test]
fn the_home_folder_is_found() {
    if let Ok(home) = std::env::var("HOME") {
        assert_eq!(super::home("~/x").unwrap(), format!("{}/x", home.trim_end_matches('/')));
    }
    assert_eq!(super::home("~other/x").unwrap(), "~other/x");
}
