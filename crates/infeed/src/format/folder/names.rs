//! Many file names in one block of memory.

/// Concatenated names, and the end offset of each.
#[derive(Debug, Default)]
pub(in crate::format) struct Names {
    text: String,
    ends: Vec<u64>,
}

impl Names {
    pub(in crate::format) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(in crate::format) fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)? as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        self.text.get(start..end)
    }

    pub(in crate::format) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u64);
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut all = Names::default();
        names.into_iter().for_each(|name| all.push(name));
        all.text.shrink_to_fit();
        all.ends.shrink_to_fit();
        all
    }
}
