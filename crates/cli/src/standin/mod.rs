//! Goal: to stand in for ptxas: run the real one, then put a rescheduled cubin in place of the one that it wrote.
//!
//! What ptxas prints, how it ends and where it writes stay its own. Its file is replaced only by one that was verified, and
//! in one step; on any doubt it stays. Cost: while ptxas runs, options and the identity of this build are made ready on
//! another thread; afterwards, a look into the cache ([`cache`]) and the checks of `verify`, or the work of `schedule`.

mod ahead;
mod build;
mod cache;
mod find;
mod flags;
mod invocation;
mod written;

use crate::failure::say;
use crate::knobs::unknown_latency;
use crate::signals;
use cache::{Cache, Entry, Key, NoCache};
use find::{CALLED, Places};
use flags::Flags;
use sassafras::reschedule::{Bisection, Options, Outcome, accept, reschedule};
use sassafras_list::registry;
use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread::JoinHandle;
use written::Expected;

/// More threads bring little for the few kernels of a cubin, and builds run many compilers at once.
const MOST_THREADS: usize = 8;

/// Whether the program was called by the name of ptxas.
pub fn is_called(program: Option<&OsStr>) -> bool {
    let name = program.map(Path::new).and_then(Path::file_name);
    name.is_some_and(|name| name == "ptxas" || name == "ptxas.exe")
}

/// Runs ptxas with its arguments and reschedules what it writes. Ends as ptxas does.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let places = Places::of_environment();
    let program = match places.find() {
        Ok(program) => program,
        Err(why) => {
            say(&format!("error: {why}"));
            return ExitCode::from(2);
        }
    };
    let mut command = Command::new(&program);
    command.args(arguments).env(CALLED, places.called_with(&program));
    let expected = invocation::output(arguments).map(Expected::new);
    // Without it ptxas ends later than it should.
    let forward = signals::Forward::watch();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            say(&format!("error: {}: {error}", program.display()));
            return ExitCode::from(2);
        }
    };
    let forwarding = forward.map(|forward| forward.to(&child));
    // Who reads what ptxas says gets one line of ours and no more.
    std::panic::set_hook(Box::new(|_| {}));
    // Somebody between us and the first stand-in leaves the work to that one.
    let nested = !places.called.is_empty();
    let output = expected.as_ref().ok().filter(|_| !nested).map(|expected| expected.path().to_owned());
    let setup = output.map(|output| Setup::start(arguments.to_vec(), output));
    let status = child.wait();
    if let Ok(forwarding) = forwarding {
        forwarding.end();
    }
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            say(&format!("error: {}: {error}", program.display()));
            return ExitCode::from(2);
        }
    };
    if !status.success() {
        return signals::end_like(status);
    }
    if !nested && let Some(note) = afterwards(expected, setup) {
        say(&format!("sassafras: {note}"));
    }
    ExitCode::SUCCESS
}

/// Reschedules what ptxas wrote; gives what there is to say about it.
fn afterwards(
    expected: Result<Expected, String>,
    setup: Option<JoinHandle<Result<Setup, String>>>,
) -> Option<String> {
    let expected = match expected {
        Ok(expected) => expected,
        Err(doubt) => return Some(format!("untouched: {doubt}")),
    };
    let bytes = expected.read()?;
    let name = expected.path().display();
    let setup = match setup?.join() {
        Ok(Ok(setup)) => setup,
        Ok(Err(doubt)) => return Some(format!("{name}: untouched: {doubt}")),
        Err(panic) => return Some(format!("{name}: untouched: {}", words_of(&*panic))),
    };
    let done = match bytes {
        Ok(bytes) => catch_unwind(AssertUnwindSafe(|| setup.deliver(&expected, &bytes)))
            .unwrap_or_else(|panic| Err(words_of(&*panic))),
        Err(error) => Err(error.to_string()),
    };
    let note = match done {
        Ok(note) => note,
        Err(doubt) => format!("untouched: {}", one_line(&doubt)),
    };
    (!setup.quiet).then(|| format!("{name}: {note}"))
}

/// A panic in words.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a defect: {}", text.unwrap_or("a panic").lines().next().unwrap_or_default())
}

/// What the environment says.
struct Setup {
    options: Options,
    threads: usize,
    quiet: bool,
    /// With what keys start from: all that results depend on but the cubin.
    cache: Option<(Cache, blake3::Hasher)>,
    /// Why the cache that there could be is not used.
    exposed: Option<String>,
    /// What this call is known by.
    mark: Key,
}

impl Setup {
    /// Makes it ready on another thread.
    fn start(arguments: Vec<OsString>, output: PathBuf) -> JoinHandle<Result<Setup, String>> {
        std::thread::spawn(move || {
            let mark = ahead::mark(&arguments, &output);
            let setup = Setup::new(Flags::of_environment()?, mark)?;
            ahead::read_tables(&arguments, &mark, setup.cache.as_ref().map(|(cache, _)| cache));
            Ok(setup)
        })
    }

    fn new(flags: Flags, mark: Key) -> Result<Setup, String> {
        let wrong = |error: anyhow::Error| format!("{}: {error:#}", flags::VARIABLE);
        let knobs = flags.job.knobs.read().map_err(wrong)?;
        let list = flags.job.list_options(
            unknown_latency(&knobs).map_err(wrong)?,
            &knobs,
            const { registry::get("critical-path") },
        );
        let bisection = Bisection::default();
        let options = flags.job.options("cubin", &flags.selection, &list, knobs, bisection).map_err(wrong)?;
        let folder = flags.cache_dir.or_else(Cache::default_folder).filter(|_| !flags.no_cache);
        let (cache, exposed) = match folder.map(|folder| Cache::open(&folder, flags.cache_size)) {
            Some(Ok(cache)) => (Some(cache), None),
            Some(Err(NoCache::Exposed(why))) => (None, Some(why)),
            Some(Err(NoCache::NoFolder)) | None => (None, None),
        };
        let cache = cache.and_then(|cache| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(build::id(&cache)?.as_bytes());
            let version = env!("CARGO_PKG_VERSION");
            hasher.update(format!("{version} {options:?}\n").as_bytes());
            Some((cache, hasher))
        });
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = flags.job.jobs.map_or(cores.min(MOST_THREADS), usize::from);
        Ok(Setup { options, threads, quiet: flags.quiet, cache, exposed, mark })
    }

    /// Puts the best cubin that we have in place of the one that ptxas wrote, and says what it is.
    fn deliver(&self, expected: &Expected, bytes: &[u8]) -> Result<String, String> {
        let key = |hasher: &blake3::Hasher| -> Key { hasher.clone().update(bytes).finalize() };
        let kept = self.cache.as_ref().and_then(|(cache, hasher)| cache.get(&key(hasher)));
        let (kept, forged) = match kept.map(|entry| self.accept(bytes, &entry).map(|()| entry)) {
            Some(Ok(entry)) => (Some(entry), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let (entry, how) = match kept {
            Some(entry) => (entry, " (cached)"),
            None => {
                if let (Some((cache, hasher)), Some(_)) = (&self.cache, &forged) {
                    cache.forget(&key(hasher));
                }
                let entry = self.reschedule(bytes)?;
                if let Some((cache, hasher)) = &self.cache {
                    cache.put(&key(hasher), &entry);
                    cache.see(&self.mark);
                }
                (entry, "")
            }
        };
        if let Some(cubin) = &entry.cubin {
            expected.replace(cubin)?;
        }
        let mut note = format!("{}{how}", entry.note);
        if let Some(why) = &forged {
            note += &format!("; what the cache held was not verified and is made anew: {}", one_line(why));
        }
        if let Some(why) = &self.exposed {
            note += &format!("; the cache is not used: {why}");
        }
        Ok(note)
    }

    /// Looks at a result of the cache as at one that was just made: the folder keeps it, and vouches for nothing.
    fn accept(&self, bytes: &[u8], entry: &Entry) -> Result<(), String> {
        if entry.note.chars().any(char::is_control) {
            return Err("its note is no line of text".to_owned());
        }
        let Some(cubin) = &entry.cubin else { return Ok(()) };
        let checked = self.threads()?.install(|| accept(bytes, cubin));
        checked.map_err(|error| error.to_string())
    }

    fn threads(&self) -> Result<rayon::ThreadPool, String> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        threads.map_err(|error| error.to_string())
    }

    fn reschedule(&self, bytes: &[u8]) -> Result<Entry, String> {
        let work = || reschedule(bytes, &self.options);
        let done = self.threads()?.install(work).map_err(|error| format!("cubin: {error}"))?;
        Ok(Entry { note: note(&done.outcomes), cubin: (done.bytes != bytes).then_some(done.bytes) })
    }
}

/// Who reads what ptxas says gets one line of ours.
fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

/// What became of a cubin, in a few words.
fn note(outcomes: &[Outcome]) -> String {
    let all = outcomes.len();
    let reordered = |outcome: &&Outcome| outcome.units.iter().any(|unit| unit.block.is_some());
    let moved: Vec<&Outcome> = outcomes.iter().filter(reordered).collect();
    let mut note = format!("{} of {all} kernels rescheduled", moved.len());
    if !moved.is_empty() {
        let cycles = moved.iter().filter_map(|outcome| outcome.cycles);
        let (before, after) =
            cycles.fold((0, 0), |sum, cycles| (sum.0 + cycles.before, sum.1 + cycles.after));
        note += &format!(", {before} → {after} cycles by the model");
    }
    match outcomes.iter().filter(|outcome| !outcome.units.is_empty() && !reordered(outcome)).count() {
        0 => {}
        fields => note += &format!(", {fields} with other control fields"),
    }
    if outcomes.iter().any(|outcome| !outcome.units.is_empty()) {
        note += "; verified";
    }
    if let Some(why) = outcomes.iter().find_map(|outcome| outcome.kept.as_ref()) {
        note += &format!("; kept: {why}");
    }
    note
}
