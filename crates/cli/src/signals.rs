//! Signals, as far as commands need them: to notice that the user ends the program, to pass signals on to a program that it
//! runs, and to end as that one did.

use anyhow::Result;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked the program to end.
pub struct Interrupted {
    asked: Arc<AtomicBool>,
}

impl Interrupted {
    /// From now on such signals set a mark and do nothing else.
    ///
    /// # Errors
    /// When the system lets nobody watch them.
    pub fn watch() -> Result<Interrupted> {
        let asked = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Interrupted { asked })
    }

    /// Whether one came.
    pub fn is_set(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// Gives a program a group of its own, so that it can be ended with all that it starts.
pub fn own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Ends the group of a program that has one of its own.
pub fn kill_group(child: &Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
    #[cfg(not(unix))]
    let _ = child;
}

/// Signals that are passed on to a program. Made before it starts, so that none is lost.
pub struct Forward {
    #[cfg(unix)]
    signals: signal_hook::iterator::Signals,
}

impl Forward {
    /// From now on signals wait to be passed on.
    ///
    /// # Errors
    /// When the system lets nobody watch them.
    pub fn watch() -> Result<Forward> {
        #[cfg(unix)]
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        Ok(Forward {
            #[cfg(unix)]
            signals: signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?,
        })
    }

    /// Passes them on to a program, from a thread of its own. Once that has ended they end us, as they would without us here:
    /// its number may be another program's by then.
    pub fn to(self, child: &Child) -> Forwarding {
        let ended = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process};
            let (pid, mut signals, ended) = (Pid::from_child(child), self.signals, Arc::clone(&ended));
            std::thread::spawn(move || {
                for number in signals.forever() {
                    if ended.load(Ordering::SeqCst) {
                        let _ = signal_hook::low_level::emulate_default_handler(number);
                    } else if let Some(signal) = Signal::from_named_raw(number) {
                        let _ = kill_process(pid, signal);
                    }
                }
            });
        }
        #[cfg(not(unix))]
        let _ = child;
        Forwarding { ended }
    }
}

/// Signals on their way to a program.
pub struct Forwarding {
    ended: Arc<AtomicBool>,
}

impl Forwarding {
    /// The program has ended.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}

/// Ends this program as another one ended: by the same signal, or with the same exit status.
pub fn end_like(status: ExitStatus) -> std::process::ExitCode {
    #[cfg(unix)]
    if let Some(number) = std::os::unix::process::ExitStatusExt::signal(&status) {
        use rustix::process::{Signal, getpid, kill_process};
        // Those that we pass on have a handler, which this takes away.
        let _ = signal_hook::low_level::emulate_default_handler(number);
        if let Some(signal) = Signal::from_named_raw(number) {
            let _ = kill_process(getpid(), signal);
        }
        // Comes here where the signal does not end a program.
        return std::process::ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX));
    }
    std::process::ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
