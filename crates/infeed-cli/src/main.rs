//! The `infeed` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Only here: inside Python the interpreter owns the signals. If the handler cannot be set, the command still
    // works, but Ctrl-C ends it without cleaning up.
    let _ = ctrlc::set_handler(|| {
        // The second Ctrl-C ends the process at once.
        if infeed_cli::interrupt() {
            std::process::exit(130);
        }
    });
    let code = infeed_cli::run(std::env::args().skip(1).collect());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
