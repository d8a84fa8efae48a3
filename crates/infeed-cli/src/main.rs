//! The `infeed` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Only here: inside Python the interpreter owns the signals. When the handler cannot be set the command still
    // works; Ctrl-C then ends it the hard way.
    let _ = ctrlc::set_handler(|| {
        // Whoever asks twice does not want to wait for a clean end.
        if infeed_cli::interrupt() {
            std::process::exit(130);
        }
    });
    let code = infeed_cli::run(std::env::args().skip(1).collect());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
