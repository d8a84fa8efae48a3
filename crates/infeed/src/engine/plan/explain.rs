//! The pipeline in words.

use super::{BatchSize, Plan};
use crate::{batch::Layout, order::Last};
use infeed_core::Order;
use std::fmt::Write;

impl Plan {
    /// The pipeline in words: stages and specs.
    pub fn explain(&self) -> String {
        let mut out = format!("source  {}\norder   {}\n", self.source.describe(), self.order.describe());
        for what in self.source.damage() {
            let _ = writeln!(out, "damage  {what}");
        }
        let width = self.spec.fields.iter().map(|(n, _)| n.len()).max().unwrap_or(0).max(6);
        for (number, branch) in self.branches.iter().enumerate() {
            if self.branches.len() > 1 {
                let start = number.checked_sub(1).map_or(0, |before| self.branches[before].end);
                let _ = writeln!(out, "rows {start} to {}", branch.end - 1);
            }
            for ((name, _), chain) in self.spec.fields.iter().zip(&branch.chains) {
                let mut lead = format!("{name:width$}");
                for (step, spec) in &chain.steps {
                    let _ = writeln!(out, "{lead}  {step:<22} {spec}");
                    lead = " ".repeat(width);
                }
            }
            for filter in &branch.filters {
                let _ = writeln!(out, "filter  {} (after decoding: batches get shorter)", filter.text);
            }
        }
        if self.spec.fields.is_empty() {
            let _ = writeln!(out, "samples are made in Python, from the number of their row");
        }
        for what in &self.python {
            let _ = writeln!(out, "python  {what}");
        }
        self.explain_batch(&mut out, width);
        out
    }

    fn explain_batch(&self, out: &mut String, width: usize) {
        let (batches, bytes) =
            (self.batches(), (self.sample_bytes() * self.batch.each(1) as u64) as f64 / 1e6);
        let last = match self.last {
            Last::Short => "",
            Last::Drop => ", incomplete last batch dropped",
            Last::Pad => ", last batch filled up with rows from the start",
        };
        let size = match self.batch {
            BatchSize::Each(n) => format!("{n} samples"),
            BatchSize::Global(n) => format!("{n} samples over all ranks"),
        };
        let batches = if self.is_stream() { "an unknown number".to_owned() } else { batches.to_string() };
        let _ = writeln!(out, "batch   {size}, {batches} per epoch, about {bytes:.1} MB each{last}");
        for ((name, _), layout) in self.spec.fields.iter().zip(self.layouts.iter()) {
            let shown = match layout {
                Layout::Stack { dtype, shape, .. } => {
                    let dims: Vec<String> = std::iter::once("batch".to_owned())
                        .chain(shape.iter().map(usize::to_string))
                        .collect();
                    format!("array {dtype}[{}]", dims.join(", "))
                }
                Layout::Pad { dtype, value } => format!("array {dtype}, padded with {value}"),
                Layout::List => "list".to_owned(),
            };
            let _ = writeln!(out, "{:width$}  {name}: {shown}", "");
        }
    }
}
