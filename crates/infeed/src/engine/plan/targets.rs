//! Targets: fields that lie in an image. Which image that is, and what would tear the two apart.

use super::branch::{Branch, Chain, Start};
use infeed_core::{Error, FieldKind, Reach, Result, TargetRule};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// A field that lies in an image.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) field: Arc<str>,
    /// What its decoder said.
    pub(super) rule: TargetRule,
    /// The image, once a transform worked on both.
    pub(super) image: Option<Arc<str>>,
    /// For views: the image that the field lay in, whose view it lies in.
    pub(super) views_of: Option<Arc<str>>,
    /// For views: what their names end with. Views with the same ending belong together.
    pub(super) suffix: String,
    /// Whether the source said it, and not the user.
    pub(super) implied: bool,
}

impl Branch {
    /// Notes that a field lies in an image.
    pub(super) fn note_target(&mut self, field: &str, rule: TargetRule) {
        self.targets.retain(|t| *t.field != *field);
        self.targets.push(Target {
            field: field.into(),
            rule,
            image: None,
            views_of: None,
            suffix: String::new(),
            implied: false,
        });
    }

    /// Decodes a field as the source says, until the user says otherwise.
    pub(super) fn imply(&mut self, field: &str, decoder: &str, args: &Map<String, Json>) -> Result<()> {
        if decoder.is_empty() {
            self.note_target(field, TargetRule::default());
        } else {
            self.decode(field, decoder, args, false)?;
        }
        self.targets.iter_mut().filter(|t| *t.field == *field).for_each(|t| t.implied = true);
        Ok(())
    }

    /// Takes back what [`Branch::imply`] did to a field, if it did and no transform worked on it since. Says whether it could.
    pub(super) fn forget_implied(&mut self, at: usize) -> bool {
        let field = Arc::clone(&self.spec.fields[at].0);
        let implied = |t: &Target| t.implied && t.field == field;
        if !self.targets.iter().any(implied) || !self.chains[at].transforms.is_empty() {
            return false;
        }
        self.targets.retain(|t| !implied(t));
        self.chains[at].decoder = None;
        self.chains[at].steps.truncate(1);
        self.spec.fields[at].1 = self.chains[at].spec();
        true
    }

    /// Notes which image targets lie in, before views change which images there are.
    pub(super) fn bind_targets(&mut self) {
        let found: Vec<Option<Arc<str>>> = self.targets.iter().map(|t| self.image_of(t, &[])).collect();
        self.targets.iter_mut().zip(found).for_each(|(target, image)| target.image = image);
    }

    /// Views of a target lie in the views of its image.
    pub(super) fn copy_target(&mut self, field: &str, to: &[String]) {
        let Some(target) = self.targets.iter().find(|t| *t.field == *field).cloned() else { return };
        for name in to {
            let suffix = name.rfind('_').map_or("", |at| &name[at..]);
            self.targets.push(Target {
                field: name.as_str().into(),
                rule: TargetRule { image: None, ..target.rule.clone() },
                image: None,
                views_of: target.image.clone(),
                suffix: suffix.to_owned(),
                implied: false,
            });
        }
    }

    /// Returns the view of a field that belongs together with views of this suffix.
    pub(super) fn view_of(&self, field: &str, suffix: &str) -> Option<Arc<str>> {
        let is_view = |c: &&Chain| matches!(&c.start, Start::Copy { of, .. } if **of == *field);
        self.chains.iter().filter(is_view).find(|c| c.name.ends_with(suffix)).map(|c| Arc::clone(&c.name))
    }

    pub(super) fn kind(&self, at: usize) -> FieldKind {
        self.spec.fields[at].1.kind
    }

    pub(super) fn images(&self) -> Vec<usize> {
        (0..self.spec.fields.len()).filter(|at| matches!(self.kind(*at), FieldKind::Image(_))).collect()
    }

    /// The fields that a transform works on when none are named: all images, with what lies in them if it moves pixels.
    pub(super) fn places(&self, reach: Reach) -> Vec<usize> {
        let moves = matches!(reach, Reach::Places | Reach::Scene);
        let wanted = |kind: FieldKind| matches!(kind, FieldKind::Image(_)) || moves && kind.is_target();
        (0..self.spec.fields.len()).filter(|at| wanted(self.kind(*at))).collect()
    }

    /// Returns the image that a target lies in: the one it names or was seen with, the only one of `among`, the only one there is.
    pub(super) fn image_of(&self, target: &Target, among: &[usize]) -> Option<Arc<str>> {
        let name = |at: &usize| Arc::clone(&self.spec.fields[*at].0);
        let only = |list: Vec<usize>| if let [one] = list.as_slice() { Some(name(one)) } else { None };
        if let Some(image) = &target.image {
            return Some(Arc::clone(image));
        }
        if let Some(image) = &target.views_of {
            return Some(self.view_of(image, &target.suffix).unwrap_or_else(|| Arc::clone(image)));
        }
        if let Some(image) = &target.rule.image {
            return Some(image.as_str().into());
        }
        let images = self.images();
        only(among.iter().copied().filter(|at| images.contains(at)).collect()).or_else(|| only(images))
    }

    /// Refuses a transform that would move an image away from what lies in it.
    pub(super) fn check_left_behind(&self, name: &str, fields: &[usize], reach: Reach) -> Result<()> {
        if reach == Reach::Values {
            return Ok(());
        }
        for target in &self.targets {
            let Some(at) = self.spec.position(&target.field) else { continue };
            let Some(image) = self.image_of(target, &[]) else { continue };
            let Some(image_at) = self.spec.position(&image).filter(|at| fields.contains(at)) else {
                continue;
            };
            if !self.kind(at).is_target() {
                return Err(Error::plan(
                    format!("map {name}"),
                    format!(
                        "moves `{image}`, and `{}` cannot follow: leave it out with select()",
                        target.field
                    ),
                ));
            }
            if reach == Reach::Alone {
                return Err(Error::plan(
                    format!("map {name}"),
                    format!(
                        "moves the pixels of `{}` in ways that `{}` cannot follow: use transforms such as RandomAffine and \
                         ColorJitter instead",
                        self.spec.fields[image_at].0, target.field
                    ),
                ));
            }
            if !fields.contains(&at) {
                return Err(Error::plan(
                    format!("map {name}"),
                    format!(
                        "moves `{image}` and leaves `{}` behind: name both in on=, or leave on= out, which means the image and \
                         all that lies in it",
                        target.field
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a target whose image is only there as views: nobody knows which of them it belongs to.
    pub(super) fn check_views(&self, target: &Target) -> Result<()> {
        let Some(image) = self.image_of(target, &[]) else { return Ok(()) };
        let gone = self.spent.iter().any(|c| c.name == image) && !self.dropped.contains(&image);
        if gone && self.chains.iter().any(|c| matches!(&c.start, Start::Copy { of, .. } if *of == image)) {
            let field = &target.field;
            return Err(Error::plan(
                "views",
                format!(
                    "of `{image}` leave `{field}` behind, which lies in it: views([\"{image}\", \"{field}\"], ...) makes views of \
                     both; or leave it out with select()"
                ),
            ));
        }
        Ok(())
    }

    /// Whether a selection leaves out the image that boxes or points lie in: their way ends before.
    pub(super) fn leaves_targets(&self, names: &[String]) -> bool {
        let there = |name: &str| names.iter().any(|n| n == name);
        let lost = |t: &Target| self.image_of(t, &[]).is_some_and(|image| !there(&image));
        self.targets.iter().any(|t| there(&t.field) && lost(t))
    }
}
