//! Windows along the axis of rows: which steps a row has.

use std::ops::Range;

/// Rows of several steps, and the steps behind them that are to be foretold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    /// Steps of a window.
    pub(crate) length: u64,
    /// Steps between the beginnings of windows.
    pub(crate) stride: u64,
    /// Steps of a target; 0 if there is none.
    pub(crate) horizon: u64,
    /// Steps between a window and its target.
    pub(crate) gap: u64,
    /// Whether they go from one file to the next, as if all were one.
    pub(crate) across: bool,
}

impl Windows {
    /// Steps from the beginning of a window to the end of what belongs to it.
    pub(crate) fn span(&self) -> u64 {
        match self.horizon {
            0 => self.length,
            horizon => self.length.saturating_add(self.gap).saturating_add(horizon),
        }
    }

    /// How many windows so many steps have.
    pub(crate) fn count(&self, steps: u64) -> u64 {
        steps.checked_sub(self.span()).map_or(0, |rest| rest / self.stride + 1)
    }

    /// The numbers of the windows that begin in these steps of a file, among those of all files together.
    pub(crate) fn beginning(&self, steps: Range<u64>, all: u64) -> Range<u64> {
        let count = self.count(all);
        steps.start.div_ceil(self.stride).min(count)..steps.end.div_ceil(self.stride).min(count)
    }

    /// Steps at the end that no window has.
    pub(crate) fn unused(&self, steps: u64) -> u64 {
        match self.count(steps) {
            0 => steps,
            windows => steps - ((windows - 1) * self.stride + self.span()),
        }
    }

    /// The steps of a window that begins at a step, or of its target.
    pub(crate) fn steps(&self, begin: u64, target: bool) -> Range<u64> {
        match target {
            false => begin..begin + self.length,
            true => {
                let first = begin + self.length + self.gap;
                first..first + self.horizon
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_are_all_that_fit(
            length in 1u64..9, stride in 1u64..9, horizon in 0u64..5, gap in 0u64..5, steps in 0u64..60,
        ) {
            let windows = Windows { length, stride, horizon, gap, across: false };
            let fits = |begin: &u64| {
                let last = if horizon == 0 { begin + length } else { begin + length + gap + horizon };
                last <= steps
            };
            let begins: Vec<u64> = (0..steps).step_by(stride as usize).filter(fits).collect();
            prop_assert_eq!(windows.count(steps), begins.len() as u64);
            let mut end = 0;
            for begin in begins {
                let (own, target) = (windows.steps(begin, false), windows.steps(begin, true));
                prop_assert_eq!(own.end - own.start, length);
                prop_assert_eq!(target.end - target.start, horizon);
                prop_assert_eq!(target.start, own.end + gap);
                end = if horizon == 0 { own.end } else { target.end };
                prop_assert!(end <= steps);
            }
            prop_assert_eq!(windows.unused(steps), steps - end);
        }
    }

    #[test]
    fn numbers_that_cannot_be_added_give_no_window() {
        let windows = Windows { length: 1 << 63, stride: 1, horizon: 1 << 63, gap: 1 << 63, across: true };
        assert_eq!((windows.count(1 << 40), windows.unused(7)), (0, 7));
    }
}
