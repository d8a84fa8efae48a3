//! Describes a pipeline in words.

use super::{BatchSize, Plan};
use crate::{batch::ColumnLayout, order::Last};
use infeed_core::{Dtype, Order};
use std::fmt::Write;

impl Plan {
    /// Describes the pipeline in words: stages and specs.
    pub fn explain(&self) -> String {
        let mut out = format!("source  {}\norder   {}\n", self.source.describe(), self.order.describe());
        if let Some(network) = self.source.network() {
            let _ = writeln!(
                out,
                "reads   from {network}, a network file system: in large pieces, many at a time"
            );
        }
        self.explain_reads(&mut out);
        for note in &self.notes {
            let _ = writeln!(out, "{note}");
        }
        for what in self.source.damage() {
            let _ = writeln!(out, "damage  {what}");
        }
        let names = self.branches.iter().flat_map(|b| &b.chains).map(|c| c.name.len());
        let width = names.max().unwrap_or(0).max(6);
        for (number, branch) in self.branches.iter().enumerate() {
            if self.branches.len() > 1 {
                let start = number.checked_sub(1).map_or(0, |before| self.branches[before].end);
                let _ = writeln!(out, "rows {start} to {}", branch.end - 1);
            }
            // Chains that only serve others are printed first, because they run first.
            let (own, others) = branch.chains.split_at(self.spec.fields.len().min(branch.chains.len()));
            for (chain, gone) in others.iter().map(|c| (c, true)).chain(own.iter().map(|c| (c, false))) {
                let mut lead = format!("{:width$}", chain.name);
                for (step, spec) in &chain.steps {
                    let _ = writeln!(out, "{lead}  {step:<22} {spec}");
                    lead = " ".repeat(width);
                }
                if gone {
                    let _ = writeln!(out, "{lead}  only for its views");
                }
            }
            if let Some(kept) = &branch.kept {
                let _ = writeln!(out, "cache   {}", kept.describe(branch));
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
            let later = self.laid_in_python.iter().find(|(later, _)| later == name);
            let (layout, when) = later.map_or((layout, ""), |(_, later)| (later, ", after Python functions"));
            let shown = match layout {
                ColumnLayout::Stack { dtype, shape, .. } | ColumnLayout::Deferred { dtype, shape, .. } => {
                    array(*dtype, shape)
                }
                ColumnLayout::Pad { dtype, padding, .. } => format!("array {dtype}, padded with {padding}"),
                ColumnLayout::Flat { dtype, .. } => format!("array {dtype}, samples end to end"),
                ColumnLayout::List => "list".to_owned(),
            };
            let _ = writeln!(out, "{:width$}  {name}: {shown}{when}", "");
            let of = match layout {
                ColumnLayout::Flat { .. } => "where each begins, and the end",
                _ => "true where there is data",
            };
            if let Some((further, spec)) = layout.further() {
                let _ = writeln!(out, "{:width$}  {further}: array {}, {of}", "", spec.dtype);
            }
        }
        for change in &self.changes {
            let on: Vec<&str> = change.on.iter().map(|at| &*change.before.fields[*at].0).collect();
            let _ = writeln!(out, "then    {} on {}", change.name, on.join(", "));
            for (_, (name, spec)) in
                change.after.fields.iter().enumerate().filter(|(at, _)| change.renews(*at))
            {
                let shown = array(spec.dtype, &spec.fixed_shape().unwrap_or_default());
                let _ = writeln!(out, "{:width$}  {name}: {shown}", "");
            }
        }
    }
}

/// One array over all samples.
fn array(dtype: Dtype, shape: &[usize]) -> String {
    let dims: Vec<String> =
        std::iter::once("batch".to_owned()).chain(shape.iter().map(usize::to_string)).collect();
    format!("array {dtype}[{}]", dims.join(", "))
}
