//! Joints: steps that an image and all that lies in it take together.
//!
//! A transform that moves pixels is one. At the end of their way boxes and points become arrays, and what belongs to a box that is
//! gone leaves with it: one more joint, without a transform.

use super::{
    branch::{Branch, Chain, ChainStep, restage},
    targets::Target,
};
use infeed_core::{Dim, Error, FieldKind, FieldSpec, Reach, Result, Transform};
use std::sync::Arc;

/// What a field is to a joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartRole {
    /// The image, or the mask that stands alone: it gives the size.
    Anchor,
    /// A mask of it.
    Mask,
    /// Masks of instances.
    Masks,
    /// Boxes in it.
    Boxes,
    /// Points in it.
    Points,
    /// One element per box.
    Along,
}

/// A field of a joint.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: Arc<str>,
    /// Its index among the chains; set when the plan is settled.
    pub(crate) column: usize,
    /// Its steps before the joint.
    pub(crate) after: usize,
    pub(crate) role: PartRole,
}

/// A step that several fields take together.
#[derive(Debug, Clone)]
pub(crate) struct Joint {
    /// The address of its random numbers.
    pub(crate) stage: u64,
    /// What is done; `None` ends the way of boxes and points.
    pub(crate) transform: Option<Arc<dyn Transform>>,
    pub(crate) parts: Vec<Part>,
}

/// The fields of a joint, by their places.
type Fields = Vec<(usize, PartRole)>;

impl Branch {
    /// Adds a step that an image and what lies in it take together, for every image among the fields. Returns the fields that
    /// are left for steps of their own.
    pub(super) fn join(
        &mut self,
        name: &str,
        fields: Vec<usize>,
        transform: &Arc<dyn Transform>,
        stage: u64,
    ) -> Result<Vec<usize>> {
        let reach = transform.reach();
        let wrong = |what: String| Err(Error::plan(format!("map {name}"), what));
        let mut alone: Vec<usize> = fields.clone();
        let mut groups: Vec<(usize, Vec<usize>)> = vec![];
        let targets: Vec<usize> = fields.iter().copied().filter(|at| self.kind(*at).is_target()).collect();
        for at in targets {
            let field = Arc::clone(&self.spec.fields[at].0);
            let number = self.targets.iter().position(|t| t.field == field);
            if number.is_none() && self.kind(at) != FieldKind::Mask {
                return wrong(format!("`{field}` follows its image no more: put this stage before select()"));
            }
            let image = number.and_then(|n| self.image_of(&self.targets[n], &fields));
            let found = image.as_deref().and_then(|image| self.spec.position(image));
            let pixels = |at: &usize| fields.contains(at) && matches!(self.kind(*at), FieldKind::Image(_));
            let anchor = match found {
                Some(image) if pixels(&image) => image,
                // A mask without any image stands alone.
                None if self.kind(at) == FieldKind::Mask && self.images().is_empty() => continue,
                None if self.images().len() > 1 => {
                    return wrong(format!(
                        "`{field}` lies in one of several images: say which with image=\"...\" of its decoder, or name the \
                         image and `{field}` in on="
                    ));
                }
                None => {
                    return wrong(format!(
                        "`{field}` lies in an image that is not there: decode the image too"
                    ));
                }
                Some(_) => {
                    let image = image.unwrap_or_default();
                    return wrong(format!(
                        "works on `{field}` without its image `{image}`: name both in on="
                    ));
                }
            };
            if let Some(target) = number.map(|n| &mut self.targets[n]) {
                target.image = Some(Arc::clone(&self.spec.fields[anchor].0));
            }
            match groups.iter_mut().find(|(image, _)| *image == anchor) {
                Some((_, members)) => members.push(at),
                None => groups.push((anchor, vec![at])),
            }
        }
        if reach == Reach::Scene
            && groups.iter().all(|(_, m)| m.iter().all(|at| self.kind(*at) != FieldKind::Boxes))
        {
            return wrong(
                "needs boxes: decode them with decoders.boxes(...), and name them in on=".to_owned(),
            );
        }
        for (anchor, members) in groups {
            let mut parts = vec![(anchor, PartRole::Anchor)];
            parts.extend(members.iter().map(|at| (*at, role(self.kind(*at)))));
            alone.retain(|at| *at != anchor && !members.contains(at));
            self.add_joint(name, &parts, Some(Arc::clone(transform)), stage)?;
        }
        Ok(alone)
    }

    fn add_joint(
        &mut self,
        name: &str,
        parts: &[(usize, PartRole)],
        transform: Option<Arc<dyn Transform>>,
        stage: u64,
    ) -> Result<()> {
        let number = self.joints.len();
        let mut joint = Joint { stage, transform, parts: vec![] };
        for (at, role) in parts {
            let (field, spec) = &self.spec.fields[*at];
            let label = format!("map {name} on `{field}`");
            if self.chains[*at].optional {
                let what = "the field is optional, and others lie in it: decode it without optional=True";
                return Err(Error::plan(label, what));
            }
            let spec = match &joint.transform {
                Some(transform) => transform.spec(spec).map_err(|e| restage(e, &label))?,
                None => ended(spec, *role),
            };
            let chain = &mut self.chains[*at];
            let after = chain.transforms.len();
            joint.parts.push(Part { name: Arc::clone(field), column: 0, after, role: *role });
            chain.transforms.push((stage, ChainStep::Joint(number)));
            if joint.transform.is_some() || chain.spec() != spec {
                chain.steps.push((name.to_owned(), spec.clone()));
            }
            self.spec.fields[*at].1 = spec;
        }
        self.joints.push(joint);
        Ok(())
    }

    /// Ends the way of boxes, points and masks of instances, before samples become batches.
    pub(super) fn end_targets(&mut self) -> Result<()> {
        let mut groups: Vec<(usize, Fields, Option<Target>)> = vec![];
        for target in self.targets.clone() {
            let Some(at) = self.spec.position(&target.field) else { continue };
            self.check_views(&target)?;
            let role = role(self.kind(at));
            if !matches!(role, PartRole::Boxes | PartRole::Points | PartRole::Masks) {
                continue;
            }
            let image = self.image_of(&target, &[]).and_then(|image| self.spec.position(&image));
            let pixels = image.is_some_and(|at| matches!(self.kind(at), FieldKind::Image(_)));
            // Without pixels nothing moves: the numbers stay as they are stored.
            if target.implied && !pixels && self.forget_implied(at) {
                continue;
            }
            if role == PartRole::Masks && !pixels {
                // They know the size of their image themselves.
                self.add_joint("as an array", &[(at, role)], None, 0)?;
                continue;
            }
            let Some(image) = image.filter(|at| matches!(self.kind(*at), FieldKind::Image(_))) else {
                return Err(Error::plan(
                    format!("decode {}", target.field),
                    "lies in an image: decode that too, and if there are several say which with image=\"...\" of the decoder",
                ));
            };
            let boxes = (role == PartRole::Boxes).then_some(target);
            match groups.iter_mut().find(|(anchor, ..)| *anchor == image) {
                Some((_, members, owner)) => {
                    members.push((at, role));
                    if let (Some(first), Some(second)) = (&owner, &boxes) {
                        let message = format!(
                            "`{}` and `{}` are boxes of one image: make them one field, so that it is clear what leaves with them",
                            first.field, second.field
                        );
                        return Err(Error::plan("decode boxes", message));
                    }
                    *owner = owner.take().or(boxes);
                }
                None => groups.push((image, vec![(at, role)], boxes)),
            }
        }
        for (anchor, members, boxes) in groups {
            let mut parts = vec![(anchor, PartRole::Anchor)];
            parts.extend(&members);
            if let Some(boxes) = boxes {
                for at in self.along(&boxes, &parts)? {
                    parts.push((at, PartRole::Along));
                }
            }
            self.add_joint("as arrays", &parts, None, 0)?;
        }
        // What became an array does not follow any more.
        let ended =
            |t: &Target| self.spec.position(&t.field).is_none_or(|at| self.kind(at) != FieldKind::Mask);
        let over: Vec<Arc<str>> =
            self.targets.iter().filter(|t| ended(t)).map(|t| Arc::clone(&t.field)).collect();
        self.targets.retain(|t| !over.contains(&t.field));
        Ok(())
    }

    /// The fields with one element per box.
    fn along(&self, boxes: &Target, parts: &[(usize, PartRole)]) -> Result<Vec<usize>> {
        let taken = |at: &usize| parts.iter().any(|(part, _)| part == at);
        let stage = format!("decode {}=\"boxes\"", boxes.field);
        let Some(names) = &boxes.rule.along else {
            let loose = |at: &usize| {
                let spec = &self.spec.fields[*at].1;
                let list = spec.kind == FieldKind::Array && spec.shape.first() == Some(&Dim::Any);
                (list || spec.kind == FieldKind::Json) && !taken(at)
            };
            let candidates: Vec<&str> =
                (0..self.spec.fields.len()).filter(loose).map(|at| &*self.spec.fields[at].0).collect();
            if candidates.is_empty() {
                return Ok(vec![]);
            }
            return Err(Error::plan(
                stage,
                format!(
                    "boxes that are cut off leave together with what belongs to them: say which fields have one element per box, \
                     decoders.boxes(..., along=[...]); candidates are {}; along=[] if none has",
                    candidates.join(", ")
                ),
            ));
        };
        let mut found = vec![];
        for name in names {
            let view = boxes.views_of.as_ref().and_then(|_| self.view_of(name, &boxes.suffix));
            let at = view.and_then(|view| self.spec.position(&view)).or_else(|| self.spec.position(name));
            match at {
                Some(at) if taken(&at) => {}
                Some(at) => found.push(at),
                // Fields that were not selected are not needed.
                None if self.dropped.iter().any(|gone| **gone == **name) => {}
                None => {
                    self.spec.require(name, &stage)?;
                }
            }
        }
        Ok(found)
    }

    /// Resolves the columns of all joints.
    pub(super) fn settle_joints(&mut self) -> Result<()> {
        for part in self.joints.iter_mut().flat_map(|j| &mut j.parts) {
            part.column = self.chains.iter().position(|c: &Chain| c.name == part.name).ok_or_else(|| {
                Error::Internal { what: format!("the field `{}` of a joint is lost", part.name) }
            })?;
        }
        Ok(())
    }

    /// The fields that steps of others need although nobody selected them.
    pub(super) fn joined_with(&self, chain: &Chain) -> Vec<Arc<str>> {
        let joint = |(_, step): &(u64, ChainStep)| match step {
            ChainStep::Joint(number) => self.joints.get(*number),
            ChainStep::Own(_) => None,
        };
        let parts = chain.transforms.iter().filter_map(joint).flat_map(|joint| &joint.parts);
        parts.map(|part| Arc::clone(&part.name)).collect()
    }
}

fn role(kind: FieldKind) -> PartRole {
    match kind {
        FieldKind::Mask => PartRole::Mask,
        FieldKind::Masks => PartRole::Masks,
        FieldKind::Boxes => PartRole::Boxes,
        FieldKind::Points => PartRole::Points,
        _ => PartRole::Along,
    }
}

/// The spec of a field at the end: masks of instances have the size of their image, which others know.
fn ended(spec: &FieldSpec, role: PartRole) -> FieldSpec {
    let mut spec = spec.clone();
    // The number of elements is that of the boxes which were kept.
    if let (PartRole::Along, Some(first)) = (role, spec.shape.first_mut()) {
        *first = Dim::Any;
    }
    spec
}
