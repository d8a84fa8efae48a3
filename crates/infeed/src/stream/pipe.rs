//! The output of a command.

use super::{
    input::{PATIENCE, Stop},
    sys,
};
use std::{
    io::{self, Read},
    os::{fd::AsFd, unix::process::CommandExt},
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

/// How much of a command's stderr is kept. The end is what matters.
const TAIL: usize = 2 << 10;
/// How often a command that has closed its output is polled for its exit.
const ASK: Duration = Duration::from_millis(2);

/// A running command. Reading past the end of its output waits for its exit, and fails if the command failed.
/// Dropping it kills and reaps the command with all processes it has started.
#[derive(Debug)]
pub(super) struct Pipe {
    child: Child,
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    tail: Vec<u8>,
    /// The exit status, once it has ended.
    status: Option<ExitStatus>,
    stop: Stop,
}

impl Pipe {
    /// Starts `sh -c command`.
    pub(super) fn start(command: &str, stop: Stop) -> io::Result<Self> {
        let mut child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A process group of its own: the shell may start other processes, and killing only the shell would leave
            // them.
            .process_group(0)
            .spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        Ok(Pipe { child, out, err, tail: Vec::new(), status: None, stop })
    }

    /// Drains the command's stderr without blocking. Otherwise the command would stall when the pipe is full.
    fn listen(&mut self) -> io::Result<()> {
        let Some(err) = &mut self.err else { return Ok(()) };
        let mut words = [0; 4 << 10];
        match err.read(&mut words) {
            Ok(0) => self.err = None,
            Ok(got) => {
                self.tail.extend_from_slice(&words[..got]);
                let surplus = self.tail.len().saturating_sub(TAIL);
                self.tail.drain(..surplus);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Waits for the command to exit. Fails unless it succeeded.
    fn finish(&mut self) -> io::Result<()> {
        // Background processes of the command may write to stderr for ever.
        let mut patience = 64;
        let status = loop {
            self.stop.check()?;
            let ended = match self.status {
                Some(status) => Some(status),
                None => self.child.try_wait()?,
            };
            self.status = ended;
            let wait = if ended.is_some() { Duration::ZERO } else { ASK };
            let said = match &self.err {
                Some(err) => sys::readable([None, Some(err.as_fd())], wait)?[1],
                None => {
                    thread::sleep(wait);
                    false
                }
            };
            match (said, ended) {
                (true, None) => self.listen()?,
                (true, Some(_)) if patience > 0 => {
                    self.listen()?;
                    patience -= 1;
                }
                (_, Some(status)) => break status,
                (false, None) => {}
            }
        };
        if status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&self.tail);
        let said = match said.trim() {
            "" => "; it said nothing".to_owned(),
            words => format!("; it said: {words}"),
        };
        Err(io::Error::other(format!("the command failed ({status}){said}")))
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stop.check()?;
            let Some(out) = &mut self.out else {
                self.finish()?;
                return Ok(0);
            };
            let fds = [Some(out.as_fd()), self.err.as_ref().map(AsFd::as_fd)];
            let [data, said] = sys::readable(fds, PATIENCE)?;
            if data {
                match out.read(buffer) {
                    Ok(0) => self.out = None,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    other => return other,
                }
            }
            if said {
                self.listen()?;
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if self.status.is_none() {
            sys::kill_group(self.child.id());
            // It was killed, so this is quick; without the wait it would remain a zombie.
            let _ = self.child.wait();
        }
    }
}
