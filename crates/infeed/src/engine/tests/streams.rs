//! States of pipelines over a stream.

use super::*;
use infeed_core::{Begin, Flow, Stream, StreamRow};
use std::sync::Mutex;

/// A stream that is only described: states are compared before anything is read.
#[derive(Debug)]
struct Unread(Spec);

impl Stream for Unread {
    fn spec(&self) -> &Spec {
        &self.0
    }
    fn parts(&self) -> u64 {
        1
    }
    fn start(&self, _: &[u64]) -> Result<Box<dyn Flow>> {
        Err(Error::Internal { what: "nothing is read here".to_owned() })
    }
    fn describe(&self) -> String {
        "unread".to_owned()
    }
}

fn stream_loader(stages: &str) -> Loader {
    let recipe = format!(r#"{{"source": {{"paths": ["x"]}}, "stage": [{stages}]}}"#);
    let stream: Arc<dyn Stream> = Arc::new(Unread(Numbers::new(0).spec));
    let plan = Plan::with(Recipe::from_json(&recipe).unwrap(), &mut |_| Ok(Opened::Stream(stream.clone())));
    Loader::new(Arc::new(plan.unwrap()), threads(1)).unwrap()
}

const BATCH: &str = r#"{"op": "batch", "size": 4}"#;

fn with_function(name: &str) -> Loader {
    stream_loader(&format!(
        r#"{{"op": "shuffle", "seed": 1}}, {{"op": "python", "what": "{name}"}}, {BATCH}"#
    ))
}

#[test]
fn a_renamed_function_is_other_samples_but_no_other_order() {
    let state = with_function("map(before)").checkpoint();
    let mut now = with_function("map(after)");
    let error = now.restore(&state, true).unwrap_err().to_string();
    assert!(error.contains("decoders, transforms or filters differ"), "{error}");
    now.restore(&state, false).unwrap();
}

#[test]
fn another_order_of_a_stream_is_refused() {
    let state = with_function("map(f)").checkpoint();
    let mut other = stream_loader(&format!(r#"{{"op": "shuffle", "seed": 2}}, {BATCH}"#));
    let error = other.restore(&state, false).unwrap_err().to_string();
    assert!(error.contains("(seed 1)") && error.contains("and this one is"), "{error}");
    // Orders with the same description are not reported as the same order.
    let mut alike = stream_loader(&format!(r#"{{"op": "shuffle", "seed": 1, "initial": 7}}, {BATCH}"#));
    let error = alike.restore(&state, false).unwrap_err().to_string();
    assert!(error.contains("its order differs, though both are described as `"), "{error}");
}

#[test]
fn states_that_count_functions_to_the_order_still_fit() {
    let mut loader = with_function("map(f)");
    let mut state: serde_json::Value = serde_json::from_str(&loader.checkpoint().to_json()).unwrap();
    state["order"] = loader.plan().former_order().unwrap().into();
    assert_ne!(state["order"], serde_json::json!(loader.plan().identity().order));
    loader.restore(&Checkpoint::from_json(&state.to_string()).unwrap(), true).unwrap();
}

/// A stream that remembers where it was asked to begin, and has no rows.
#[derive(Debug)]
struct Marked(Spec, Mutex<Vec<(u64, Option<String>)>>);

#[derive(Debug)]
struct Ended;

impl Flow for Ended {
    fn next(&mut self, _: &[Arc<str>]) -> Result<Option<StreamRow>> {
        Ok(None)
    }
}

impl Stream for Marked {
    fn spec(&self) -> &Spec {
        &self.0
    }
    fn parts(&self) -> u64 {
        1
    }
    fn start(&self, _: &[u64]) -> Result<Box<dyn Flow>> {
        Ok(Box::new(Ended))
    }
    fn begin(&self, at: &Begin<'_>) -> Result<(Box<dyn Flow>, u64)> {
        self.1.lock().unwrap().push((at.row, at.mark.map(str::to_owned)));
        Ok((Box::new(Ended), at.row))
    }
    fn mark(&self, epoch: u64, row: u64) -> Option<String> {
        Some(format!("epoch {epoch}, row {row}"))
    }
    fn describe(&self) -> String {
        "marked".to_owned()
    }
}

#[test]
fn a_stream_begins_at_the_mark_of_the_state() {
    for (shuffle, wanted) in [
        ("", (12, Some("epoch 0, row 12".to_owned()))),
        // A buffer is filled from the start.
        (r#"{"op": "shuffle", "seed": 1},"#, (0, None)),
    ] {
        let recipe = format!(r#"{{"source": {{"paths": ["x"]}}, "stage": [{shuffle} {BATCH}]}}"#);
        let stream = Arc::new(Marked(Numbers::new(0).spec, Mutex::default()));
        let opened = Arc::clone(&stream);
        let plan =
            Plan::with(Recipe::from_json(&recipe).unwrap(), &mut |_| Ok(Opened::Stream(opened.clone())));
        let mut loader = Loader::new(Arc::new(plan.unwrap()), threads(1)).unwrap();
        let mut state: serde_json::Value = serde_json::from_str(&loader.checkpoint().to_json()).unwrap();
        (state["step"], state["place"]) = (3.into(), 12.into());
        if shuffle.is_empty() {
            assert_eq!(state["mark"], "epoch 0, row 0");
            state["mark"] = "epoch 0, row 12".into();
        }
        loader.restore(&Checkpoint::from_json(&state.to_string()).unwrap(), true).unwrap();
        let mut run = loader.start().unwrap();
        assert!(matches!(run.next(None), Ok(Next::End)));
        assert_eq!(stream.1.lock().unwrap().first(), Some(&wanted));
    }
}
