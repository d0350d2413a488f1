//! Running other programs: shown before they start, bounded in time, stopped with us.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail};

use crate::say::say;

/// Something that we need, do not have and may not install; carries the command that gets it.
#[derive(Debug)]
pub(crate) struct Missing {
    line: String,
}

impl Missing {
    pub(crate) fn new(what: impl fmt::Display, get: impl fmt::Display) -> Self {
        Self {
            line: format!("missing: {what}; to get it: {get}"),
        }
    }

    /// One that was said before.
    pub(crate) fn said(line: String) -> Self {
        Self { line }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.line)
    }
}

impl std::error::Error for Missing {}

/// A program with its arguments, environment, folder and time limit.
#[derive(Debug)]
pub(crate) struct Tool {
    program: String,
    args: Vec<String>,
    envs: Vec<(String, String)>,
    path: Vec<PathBuf>,
    folder: PathBuf,
    limit: Duration,
}

impl Tool {
    /// A program that is to run in `folder`, for at most a quarter of an hour.
    pub(crate) fn new(program: impl AsRef<OsStr>, folder: &Path) -> Self {
        Self {
            program: program.as_ref().to_string_lossy().into_owned(),
            args: Vec::new(),
            envs: Vec::new(),
            path: Vec::new(),
            folder: folder.to_path_buf(),
            limit: minutes(15),
        }
    }

    pub(crate) fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args.extend(
            args.into_iter()
                .map(|arg| arg.as_ref().to_string_lossy().into_owned()),
        );
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((
            name.to_owned(),
            value.as_ref().to_string_lossy().into_owned(),
        ));
        self
    }

    /// Puts a folder before the others on the program's search path.
    pub(crate) fn path(mut self, folder: &Path) -> Self {
        self.path.push(folder.to_path_buf());
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs to the end with our own terminal; an error unless the program succeeds.
    pub(crate) fn run(self) -> Result<()> {
        say(&self.shown());
        let started = Instant::now();
        let mut running = self.start(Stdio::inherit)?;
        while started.elapsed() < self.limit {
            match running.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("{} ended with {status}", self.program),
                None => std::thread::sleep(TICK),
            }
        }
        bail!(self.too_long())
    }

    /// Runs to the end without a word and returns what it wrote to stdout.
    pub(crate) fn quiet(self) -> Result<String> {
        let ended = self.collect(|_, _| ())?;
        match ended.status {
            Some(status) if status.success() => Ok(ended.out),
            Some(status) => bail!("{} ended with {status}: {}", self.program, ended.err.trim()),
            None => bail!(self.too_long()),
        }
    }

    /// Runs to the end, passing its output through, and returns what it wrote.
    pub(crate) fn watched(mut self) -> Result<Ended> {
        say(&self.shown());
        if std::io::stderr().is_terminal() {
            self = self.env("CARGO_TERM_COLOR", "always");
        }
        let ended = self.collect(pass_through)?;
        if ended.status.is_none() {
            say(&self.too_long());
        }
        Ok(ended)
    }

    /// Starts it in the background, silent; it ends when the value is dropped.
    pub(crate) fn background(self) -> Result<Running> {
        self.start(Stdio::null)
    }

    /// The command as a person would type it in the workspace's root.
    pub(crate) fn shown(&self) -> String {
        let mut words = Vec::new();
        if !self.path.is_empty() {
            let folders: Vec<String> = self.path.iter().map(|part| quoted(&lossy(part))).collect();
            words.push(format!("PATH={}:$PATH", folders.join(":")));
        }
        words.extend(
            self.envs
                .iter()
                .map(|(name, value)| format!("{name}={}", quoted(value))),
        );
        words.extend(
            std::iter::once(&self.program)
                .chain(&self.args)
                .map(|word| quoted(word)),
        );
        format!("$ {}", words.join(" "))
    }

    fn start(&self, output: fn() -> Stdio) -> Result<Running> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.envs.iter().map(|(name, value)| (name, value)));
        if !self.path.is_empty() {
            let old = std::env::var_os("PATH").unwrap_or_default();
            let all = self.path.iter().cloned().chain(std::env::split_paths(&old));
            command.env("PATH", std::env::join_paths(all)?);
        }
        command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(output())
            .stderr(output());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", self.program))?;
        groups().insert(child.id());
        Ok(Running { child })
    }

    fn collect(&self, on_line: fn(Stream, &str)) -> Result<Ended> {
        let started = Instant::now();
        let mut running = self.start(Stdio::piped)?;
        let (sender, lines) = channel();
        read_lines(running.child.stdout.take(), Stream::Out, sender.clone());
        read_lines(running.child.stderr.take(), Stream::Err, sender);
        let mut ended = Ended {
            status: None,
            out: String::new(),
            err: String::new(),
        };
        loop {
            let open = ended.take(&lines, on_line);
            if let Some(status) = running.child.try_wait()? {
                ended.status = Some(status);
                ended.drain(&lines, on_line);
                return Ok(ended);
            }
            if self.limit < started.elapsed() {
                return Ok(ended);
            }
            if !open {
                std::thread::sleep(TICK);
            }
        }
    }

    fn too_long(&self) -> String {
        format!(
            "{} was stopped: it took over {} s",
            self.program,
            self.limit.as_secs()
        )
    }
}

/// What a program wrote and how it ended; no status when it ran out of time.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Takes the next line, if one comes soon; false once both streams are closed.
    fn take(&mut self, lines: &Receiver<(Stream, String)>, on_line: fn(Stream, &str)) -> bool {
        match lines.recv_timeout(TICK) {
            Ok((stream, line)) => {
                on_line(stream, &line);
                match stream {
                    Stream::Out => self.out.push_str(&line),
                    Stream::Err => self.err.push_str(&line),
                }
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Takes what is left. A grandchild may hold the streams open for ever, so not for long.
    fn drain(&mut self, lines: &Receiver<(Stream, String)>, on_line: fn(Stream, &str)) {
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until && self.take(lines, on_line) {}
    }
}

/// One of a program's two streams.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// A program that runs; dropping it ends it and all that it started.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        end_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        groups().remove(&self.child.id());
    }
}

/// Children run in process groups of their own, so that a time limit ends their children too. The
/// price is that an interrupt at the terminal does not reach them: this passes it on.
pub(crate) fn stop_children_on_interrupt() {
    let _ = ctrlc::set_handler(|| {
        groups().iter().copied().for_each(end_group);
        std::process::exit(130);
    });
}

/// So many minutes; `Duration::from_mins` is younger than the oldest compiler that we take.
pub(crate) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// True if the error (or what caused it) is that something is missing.
pub(crate) fn is_missing(error: &Error) -> bool {
    error.downcast_ref::<Missing>().is_some()
}

fn read_lines(
    from: Option<impl Read + Send + 'static>,
    stream: Stream,
    to: Sender<(Stream, String)>,
) {
    let Some(from) = from else { return };
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| 0 < count)
        {
            if to
                .send((stream, String::from_utf8_lossy(&line).into_owned()))
                .is_err()
            {
                return;
            }
            line.clear();
        }
    });
}

fn pass_through(stream: Stream, line: &str) {
    let _ = match stream {
        Stream::Out => std::io::stdout().lock().write_all(line.as_bytes()),
        Stream::Err => std::io::stderr().lock().write_all(line.as_bytes()),
    };
}

/// The process groups of our running children.
fn groups() -> MutexGuard<'static, BTreeSet<u32>> {
    static GROUPS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn end_group(id: u32) {
    use nix::sys::signal::{Signal, killpg};
    if let Ok(id) = i32::try_from(id) {
        let _ = killpg(nix::unistd::Pid::from_raw(id), Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
fn end_group(_id: u32) {}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A word as a shell wants it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How often a wait looks up.
const TICK: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
