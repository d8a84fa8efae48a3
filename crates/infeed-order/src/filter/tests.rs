use super::*;
use proptest::prelude::*;

fn holds(text: &str, values: &[(&str, Scalar<'static>)]) -> Result<bool> {
    let expr = Expr::parse(text)?;
    let find = |name: &str| values.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
    let columns: Vec<&str> = values.iter().map(|(n, _)| *n).collect();
    let list: Vec<Scalar<'_>> = values.iter().map(|(_, v)| v.clone()).collect();
    let got = expr.eval(&find);
    let bound = expr.bind(&columns)?.eval(&list);
    assert_eq!(got.as_ref().ok(), bound.as_ref().ok(), "{text}");
    got
}

fn row() -> Vec<(&'static str, Scalar<'static>)> {
    vec![
        ("label", Scalar::Int(5)),
        ("bytes", Scalar::Int(1_500_000)),
        ("score", Scalar::Float(0.25)),
        ("__key__", Scalar::Text("n01440764_18".into())),
        ("json.width", Scalar::Int(640)),
        ("json.height", Scalar::Int(480)),
        ("flag", Scalar::Bool(true)),
        ("hole", Scalar::None),
    ]
}

#[test]
fn what_holds_and_what_does_not() {
    for text in [
        "label in (3, 5) and bytes < 2_000_000",
        "label == 5",
        "label = 5.0",
        "not label != 5",
        "!(label < 3)",
        "1 < label <= 5 < 6",
        "label not in (1, 2,)",
        "__key__ like 'n01*'",
        "__key__ not like \"*x*\"",
        "json.width / json.height > 1.3",
        "json.width * json.height >= 307_200",
        "label % 2 == 1",
        "-label == -5",
        "bytes < 1.5MiB && bytes >= 1.5MB",
        "bytes > 1KB || false",
        "flag",
        "flag and score < 1",
        "hole is none",
        "label is not none",
        "flag or hole < 3",
        "not (hole < 3 and label == 4)",
        "len(__key__) == 12",
        "lower('ABC') == 'abc'",
        "abs(-3) == 3",
        "min(4, label, 9) == 4",
        "max(label, 7.5) == 7.5",
        "LABEL == 5 OR TRUE",
        "2 + 3 * 4 - 1 == 13",
        "10 - 4 - 3 == 3",
        "7 - -2 == 9",
        "'a' < 'b'",
        "label == .5e1",
        "flag == true",
        "label in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18)",
        "label == label + 0.0",
        "-9223372036854775808 < 0",
        "__key__ in ('a','b','c','d','e','f','g','h','i','j','k','l','m','n','o','p','q','n01440764_18')",
        "score not in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18)",
        "9007199254740993 != 9007199254740992.0",
    ] {
        let mut values = row();
        values.push(("LABEL", Scalar::Int(5)));
        assert_eq!(holds(text, &values).map_err(|e| e.to_string()), Ok(true), "{text}");
    }
    for text in [
        "hole < 3",
        "not hole < 3",
        "hole in (1, 2)",
        "hole not in (1, 2)",
        "flag and hole == 1",
        "hole like '*'",
        "hole + 1 == 1",
        "label == 4",
        "abs(hole) == 1",
        "min(hole, 1) == 1",
    ] {
        assert_eq!(holds(text, &row()).map_err(|e| e.to_string()), Ok(false), "{text}");
    }
}

#[test]
fn kinds_must_fit() {
    for (text, part) in [
        ("__key__ == 3", "cannot compare the text \"n01440764_18\" with the number 3 in `__key__ == 3`"),
        ("label and flag", "`and` needs true or false, and `label` is the number 5"),
        ("label", "a filter needs true or false"),
        ("label in ('a', 'b')", "cannot compare the number 5 with the text \"a\""),
        ("flag in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18)", "true cannot be among numbers"),
        ("label like 'a'", "`like` needs text, and `label` is the number 5"),
        ("len(label) > 3", "`len(label)` needs text, found the number 5"),
        ("label / 0 > 3", "division by zero"),
        ("9223372036854775807 + label > 3", "too large"),
        ("__key__ + 1 > 3", "only numbers can be worked with"),
        ("labl == 3", "there is no `labl`; did you mean `label`?"),
        ("min(label, 'x') == 3", "needs values of one kind"),
    ] {
        let error = Expr::parse(text).unwrap();
        let columns: Vec<&str> = row().iter().map(|(n, _)| *n).collect();
        let values: Vec<Scalar<'_>> = row().into_iter().map(|(_, v)| v).collect();
        let error = error.bind(&columns).and_then(|b| b.eval(&values)).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn errors_show_the_place() {
    let error = |text: &str| Expr::parse(text).unwrap_err().to_string();
    assert_eq!(
        error("label in (3, 5) and"),
        "filter: expected a value, found the end\n  label in (3, 5) and\n                     ^"
    );
    assert_eq!(error("é == 3 or ~x"), "filter: `~` means nothing here\n  é == 3 or ~x\n            ^");
    for (text, part) in [
        ("", "expected a filter"),
        ("label == ", "expected a value"),
        ("label in 3", "expected `(`"),
        ("label in (3 5)", "expected `,` or `)`"),
        ("(label == 3", "expected `)`"),
        ("label == 3)", "`and`, `or` or the end"),
        ("label like 3", "a pattern in quotes"),
        ("label is 3", "`none` or `not none`"),
        ("x == none", "is none"),
        ("x == 'a", "has no end"),
        ("x == 'a\\d'", "expected \\\\"),
        ("x < 3XB", "KiB"),
        ("x < 99999999999999999999", "too large"),
        ("x < 1e999", "too large"),
        ("x < 9223372036854775808", "too large"),
        ("lenn(x) == 1", "did you mean `len`?"),
        ("len(x, y) == 1", "takes one value, found 2"),
        ("min(x) == 1", "two values or more"),
        ("x in ()", "expected a value"),
        ("a b", "found `b`"),
        ("a < 1 in (1, 2)", "found `in`"),
        ("x & y", "means nothing"),
        ("a\n  == == b\n", "expected a value"),
    ] {
        assert!(error(text).contains(part), "{text}: {}", error(text));
    }
    assert!(error("a\n  == == b\n").ends_with("\n    == == b\n       ^"), "{}", error("a\n  == == b\n"));
    let long = format!("{}x ==", "a == 1 and ".repeat(100));
    assert!(error(&long).lines().all(|line| line.len() < 90));
}

#[test]
fn names_come_once_and_in_order() {
    let expr = Expr::parse("b > 1 and (json.width < 3 or b == 2) and len(__key__) > 1").unwrap();
    assert_eq!(expr.names(), ["b", "json.width", "__key__"]);
    assert_eq!(Expr::parse("1 < 2").unwrap().names().len(), 0);
}

#[test]
fn depth_has_an_end_and_length_has_none() {
    for (open, close) in
        [("(", ")"), ("not ", ""), ("!", ""), ("-", ""), ("abs(", ")"), ("(x in (", "))"), ("x + (", ")")]
    {
        for n in [10_000, 200_000] {
            let text = format!("{}x{}", open.repeat(n), close.repeat(n));
            assert!(Expr::parse(&text).unwrap_err().to_string().contains("deep"), "{open}");
        }
        let text = format!("{}x{}", open.repeat(20), close.repeat(20));
        let expr = Expr::parse(&text).unwrap();
        assert_eq!(Expr::parse(&expr.to_string()).unwrap(), expr);
    }
    for between in [" and ", " or ", " + ", " * ", " < ", "/"] {
        let text = vec!["x"; 50_000].join(between);
        let expr = Expr::parse(&text).unwrap();
        let _ = expr.eval(&|_| Some(Scalar::Int(1)));
        assert_eq!(Expr::parse(&expr.to_string()).unwrap(), expr);
    }
}

/// Fragments that form valid filters more often than random letters do.
fn soup() -> impl Strategy<Value = String> {
    let pieces = vec![
        "x",
        "json.w",
        "__key__",
        "3",
        "-5",
        "2_0",
        "1.5",
        "1e3",
        "4KiB",
        "'a'",
        "\"b*\"",
        "(",
        ")",
        ",",
        "and",
        "or",
        "not",
        "in",
        "like",
        "is",
        "none",
        "true",
        "==",
        "=",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "&&",
        "||",
        "len(",
        "min(",
        "abs(",
        "lower(",
        "x in (1, x)",
        "x is not none",
        "x == 3",
        "x in (9,8,7,6,5,4,3,2,1,0,1,2,3,4,5,6,7,8)",
    ];
    proptest::collection::vec(prop::sample::select(pieces), 1..12).prop_map(|all| all.join(" "))
}

/// Valid filters.
fn sensible() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "x",
        "y.z",
        "3",
        "-4",
        "1.5",
        "-0.5",
        "'a\\'b'",
        "true",
        "2MB",
        "(5)",
        "-(5)",
        "1e300",
        "'\\n\\\\é'",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(5, 60, 4, |inner| {
        let op = prop::sample::select(vec!["and", "or", "==", "!=", "<", "<=", ">", "+", "-", "*", "/", "%"]);
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a}) - ({b}) - ({c})")),
            inner.clone().prop_map(|a| format!("not ({a})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            inner.clone().prop_map(|a| format!("({a}) is none")),
            inner.clone().prop_map(|a| format!("({a}) not like 'n*'")),
            proptest::collection::vec(inner.clone(), 1..4)
                .prop_map(|all| format!("(x) in (({}))", all.join("), ("))),
            proptest::collection::vec(inner, 2..4).prop_map(|all| format!("max({})", all.join(", "))),
        ]
    })
}

fn survives(text: &str) {
    if let Ok(expr) = Expr::parse(text) {
        let printed = expr.to_string();
        assert_eq!(Expr::parse(&printed).map_err(|e| e.to_string()), Ok(expr.clone()), "{text} -> {printed}");
        for value in [
            Scalar::Int(i64::MIN),
            Scalar::Float(f64::NAN),
            Scalar::Text("aé".into()),
            Scalar::None,
            Scalar::Bool(true),
        ] {
            let _ = expr.eval(&|_| Some(value.clone())).map_err(|e| e.to_string());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_is_survived(text in ".{0,60}") {
        survives(&text);
    }

    #[test]
    fn any_ascii_is_survived(text in "[ -~\n]{0,60}") {
        survives(&text);
    }

    #[test]
    fn any_soup_is_survived(text in soup()) {
        survives(&text);
    }

    #[test]
    fn what_is_printed_is_understood(text in sensible()) {
        prop_assert!(Expr::parse(&text).is_ok(), "{}", text);
        survives(&text);
    }
}
