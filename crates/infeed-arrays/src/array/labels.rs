//! What files say about variables beside their values.

use std::{collections::HashMap, sync::Arc};

/// The names of axes, by field; and what values are counted in.
#[derive(Debug, Default)]
pub(crate) struct Dimensions {
    axes: HashMap<Arc<str>, Vec<String>>,
    units: HashMap<Arc<str>, String>,
}

impl Dimensions {
    pub(crate) fn new() -> Self {
        Dimensions::default()
    }

    pub(crate) fn insert(&mut self, field: Arc<str>, axes: Vec<String>) {
        self.axes.insert(field, axes);
    }

    pub(crate) fn get(&self, field: &str) -> Option<&Vec<String>> {
        self.axes.get(field)
    }

    /// Sets the units of a field, from the attributes that CF has for them: `of` gives the text of one.
    pub(crate) fn count_in(&mut self, field: &Arc<str>, of: impl Fn(&str) -> Option<String>) {
        let Some(units) = of("units") else { return };
        let mut units = units.split_whitespace().collect::<Vec<_>>().join(" ");
        // Only times have a calendar, and this one if they name none.
        let calendar = of("calendar").map(|name| name.trim().to_ascii_lowercase());
        if let Some(other) = calendar.filter(|name| !matches!(name.as_str(), "" | "standard" | "gregorian")) {
            units += &format!(" ({other})");
        }
        self.units.insert(Arc::clone(field), units);
    }

    pub(crate) fn units(&self, field: &str) -> Option<&str> {
        self.units.get(field).map(String::as_str)
    }
}

impl FromIterator<(Arc<str>, Vec<String>)> for Dimensions {
    fn from_iter<T: IntoIterator<Item = (Arc<str>, Vec<String>)>>(all: T) -> Self {
        Dimensions { axes: all.into_iter().collect(), units: HashMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_calendar_needs_no_name() {
        let units = |calendar: Option<&str>| {
            let (mut labels, field) = (Dimensions::new(), Arc::from("time"));
            labels.count_in(&field, |name| match name {
                "units" => Some(" days  since 1900-1-1".to_owned()),
                _ => calendar.map(str::to_owned),
            });
            labels.units("time").map(str::to_owned)
        };
        assert_eq!(units(None), units(Some("Gregorian")));
        assert_eq!(units(None).as_deref(), Some("days since 1900-1-1"));
        assert_eq!(units(Some("noleap")).as_deref(), Some("days since 1900-1-1 (noleap)"));
    }
}
