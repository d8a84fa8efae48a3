//! The `infeed` command.

/// Runs the command line.
pub fn run(_args: Vec<String>) -> i32 {
    2
}
