//! From what was opened to fields, rows and blocks.

use super::{
    BoxSource, Cut, Field, Form, Variable,
    check::{fields, fills, none, sides},
    chunks,
};
use crate::{
    array::{Array, Element},
    object::Object,
    source::{LARGEST_BLOCK, LARGEST_ROW, MIXED, MOST_MAPPED, Part, Parts, SMALL_ROW, axis_of},
};
use infeed_core::{Dim, Dtype, Error, FieldSpec, Result, Spec, Sums, blocks::BlockCache, memory::readable};
use std::sync::{Arc, Mutex};

/// Room in the cache of chunks for those that were decoded once: all there is.
const ALL: u64 = 1 << 62;
/// Rows of a source: more than anybody has, and few enough to be added and multiplied.
const MOST_ROWS: u64 = 1 << 48;

impl BoxSource {
    /// Makes a source of what was found.
    pub(crate) fn build(mut found: Parts, form: Form) -> Result<Self> {
        if form.windows.is_some() && found.axis().is_none() {
            return Err(Error::argument("window= takes steps along an axis: it needs rows=\"axis\""));
        }
        for variable in 0..found.names.len() {
            // Checks that the parts agree, and the bytes of a row.
            found.spec(variable)?;
        }
        let fields = fields(&found, &form)?;
        let mut cuts: Vec<Cut> = Vec::with_capacity(found.parts.len());
        let (mut rows, mut shard_rows) = (Sums::with_capacity(found.parts.len()), vec![0; found.files]);
        let (mut first, mut unused) = (0u64, 0u64);
        let steps = steps(&found)?;
        let mut chunks_before = vec![0usize; found.names.len()];
        for (at, part) in found.parts.iter().enumerate() {
            let own = steps.lens()[at];
            let bases = match &form.windows {
                None => own,
                Some(windows) if windows.across => {
                    let numbers = windows.beginning(steps.range(at).unwrap_or_default(), steps.total());
                    numbers.end - numbers.start
                }
                Some(windows) => {
                    unused += windows.unused(own);
                    windows.count(own)
                }
            };
            let sides = sides(&found, &form, part)?;
            let patches = match &form.patches {
                None => Some(1),
                Some(patches) => patches.count(&sides),
            };
            let count = patches.and_then(|patches| patches.checked_mul(bases));
            let all = count.and_then(|count| count.checked_add(rows.total()));
            let (Some(patches), Some(count), Some(_)) = (patches, count, all.filter(|all| *all <= MOST_ROWS))
            else {
                let what = "there are more patches than can be counted; choose a larger patch_stride=";
                return Err(Error::argument(format!("{}: {what}", found.place(part))));
            };
            let variables = variables(&found, &form, part, &mut chunks_before)?;
            cuts.push(Cut { first, sides, patches, variables });
            first += bases;
            rows.push(count);
            shard_rows[part.file] += count;
        }
        if rows.total() == 0 || fields.is_empty() {
            return Err(none(&found, &form));
        }
        let mut notes = std::mem::take(&mut found.notes);
        if let Some(windows) = &form.windows {
            let (all, files) = (steps.total(), found.files);
            notes += &match windows.across {
                true => format!(
                    "; windows go from file to file: {} of {all} steps at the end of {files} files are not used",
                    windows.unused(all)
                ),
                false => format!(
                    "; windows do not cross files: {unused} of {all} steps at the ends of {files} files are not used"
                ),
            };
        }
        let axis = found.axis();
        let elements: Vec<Element> = found.parts[0].arrays.iter().map(|array| array.element()).collect();
        let fills = fills(&found, &form, &cuts, &elements)?;
        let cache = BlockCache::default();
        cache.set_passing(ALL);
        let (names, map) = (found.names, found.map);
        let mut source = BoxSource {
            kind: found.kind,
            store: found.store,
            objects: found.objects,
            parts: found.parts,
            axis,
            form,
            spec: Spec { fields: Vec::new() },
            fields: fields.iter().map(|(_, field)| field.clone()).collect(),
            names,
            elements,
            fills,
            cuts,
            rows,
            steps,
            shard_rows,
            blocks: Sums::default(),
            mixed: None,
            cache,
            announced: Mutex::default(),
            notes,
        };
        for (at, (name, _)) in fields.iter().enumerate() {
            let spec = source.field_spec(at, name)?;
            source.spec.fields.push((Arc::clone(name), spec));
        }
        source.cut_blocks();
        if map {
            source.map()?;
        }
        Ok(source)
    }

    /// The spec of a field: what differs from part to part is left open.
    fn field_spec(&self, field: usize, name: &str) -> Result<FieldSpec> {
        let element = match &self.fields[field] {
            Field::Origin => Element::Number(Dtype::I64),
            Field::Values { variables, .. } => self.elements[variables[0]],
        };
        let Element::Number(dtype) = element else { return Ok(FieldSpec::text()) };
        let mut dims: Vec<Dim> = Vec::new();
        for part in 0..self.parts.len() {
            let shape = self.shape(part, field);
            let bytes = self.width(part, field);
            if bytes > LARGEST_ROW {
                return Err(Error::argument(format!(
                    "`{}`: a row of `{name}` has the shape {shape:?}, which no memory can hold; choose a smaller window= or patch=",
                    self.parts[part].name
                )));
            }
            if part == 0 {
                dims = shape.iter().map(|side| Dim::Fixed(*side as usize)).collect();
            }
            for (dim, side) in dims.iter_mut().zip(&shape) {
                if *dim != Dim::Fixed(*side as usize) {
                    *dim = Dim::Any;
                }
            }
        }
        Ok(FieldSpec::array(dtype, dims))
    }

    /// Cuts windows into blocks where chunks hold several steps, so that a shuffle decodes each chunk a few times only. Patches
    /// have none: they come from all over the data, and the chunks that they share are kept.
    fn cut_blocks(&mut self) {
        if self.axis.is_none() || self.form.patches.is_some() {
            return;
        }
        let stride = self.form.windows.map_or(1, |windows| windows.stride);
        let (mut blocks, mut largest, mut several) = (Sums::default(), 0, false);
        for (at, cut) in self.cuts.iter().enumerate() {
            let along = |own: &Variable| own.chunk.as_ref().zip(own.axis).map(|(chunk, axis)| chunk[axis]);
            let steps = cut.variables.iter().filter_map(along).max().unwrap_or(1);
            let each = steps.div_ceil(stride).max(1);
            several |= steps > 1 && each > 1;
            largest = largest.max(steps.saturating_mul(self.step_bytes(at)));
            let mut left = self.rows.lens()[at];
            while left > 0 {
                blocks.push(each.min(left));
                left -= each.min(left);
            }
        }
        if several && largest <= LARGEST_BLOCK {
            self.mixed = (largest > 0).then(|| (MIXED / largest).max(2));
            self.blocks = blocks;
        }
    }

    /// Bytes of one step of all variables, as they are in the array.
    fn step_bytes(&self, part: usize) -> u64 {
        let one = |(array, own): (&Arc<dyn Array>, &Variable)| {
            let sides = array.shape().iter().enumerate().filter(|(axis, _)| Some(*axis) != own.axis);
            sides.fold(array.element().size() as u64, |all, (_, side)| all.saturating_mul(*side))
        };
        self.parts[part].arrays.iter().zip(&self.cuts[part].variables).map(one).fold(0, u64::saturating_add)
    }

    /// Maps files of which small strips are read, where a call for each would cost more than its bytes.
    fn map(&mut self) -> Result<()> {
        let loose = |cut: &Cut| cut.variables.iter().any(|own| own.chunk.is_none());
        let small = |at: usize| self.form.patches.is_some() || self.step_bytes(at) < SMALL_ROW;
        let wanted = self.cuts.iter().any(loose) && (0..self.parts.len()).all(small);
        if wanted && self.objects.len() <= MOST_MAPPED {
            self.objects.iter_mut().try_for_each(Object::map)?;
        }
        Ok(())
    }
}

/// The steps of each part.
fn steps(found: &Parts) -> Result<Sums<u64>> {
    let mut out = Sums::with_capacity(found.parts.len());
    for part in &found.parts {
        let steps = found.count(part)?;
        if out.total().checked_add(steps).is_none() {
            return Err(Error::argument(format!("{}: more steps than can be counted", found.place(part))));
        }
        out.push(steps);
    }
    Ok(out)
}

/// How the arrays of a part are read.
fn variables(found: &Parts, form: &Form, part: &Part, chunks_before: &mut [usize]) -> Result<Vec<Variable>> {
    let overlaps = form.windows.is_some_and(|windows| windows.span() > windows.stride);
    let one = |(at, array): (usize, &Arc<dyn Array>)| {
        let axis = axis_of(found.axis(), array.shape().len());
        let cut = form.patches.is_some() && !found.row(part, at)?.0.is_empty();
        let chunk = array.packed().filter(|chunk| chunk.len() == array.shape().len());
        let several = |chunk: &&[u64]| axis.is_some_and(|axis| chunk[axis] > 1);
        // What no other row needs is not kept.
        let chunk = chunk.filter(|chunk| cut || overlaps || several(chunk));
        let sides = |chunk: &[u64]| {
            let own = chunk.iter().zip(array.shape()).map(|(a, b)| *a.min(b));
            own.fold(array.element().size() as u64, u64::saturating_mul)
        };
        if let Some(bytes) = chunk.map(sides).filter(|bytes| *bytes > LARGEST_BLOCK)
            && chunk == Some(array.shape())
        {
            return Err(Error::argument(format!(
                "{}: `{}` can only be decoded as a whole, and takes {}: write it again uncompressed or in smaller chunks",
                found.place(part),
                found.names[at],
                readable(bytes)
            )));
        }
        let chunk = chunk.filter(|chunk| sides(chunk) <= LARGEST_BLOCK && !chunk.contains(&0));
        let count = chunk.and_then(|chunk| chunks::count(array.shape(), chunk));
        let first_chunk = chunks_before[at];
        let chunk = chunk.filter(|_| count.is_some()).map(<[u64]>::to_vec);
        chunks_before[at] = first_chunk.saturating_add(count.unwrap_or(0));
        Ok(Variable { axis, cut, chunk, first_chunk })
    };
    part.arrays.iter().enumerate().map(one).collect()
}
