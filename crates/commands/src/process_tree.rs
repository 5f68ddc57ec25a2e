//! Everything that a command started, found and stopped.
//!
//! A process belongs to a command if it is in its group or session, descends from such a process, or carries the
//! command's mark in its environment: that one stays with it whatever it does to its group and its parent.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The name of the variable that marks the processes of a command.
pub(crate) const MARK: &str = "FOLKMOOT_COMMAND";
/// Between two looks at what is left.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// After this long what can't be killed, sleeping in the kernel say, is left.
const GIVE_UP: Duration = Duration::from_secs(5);

/// The processes of a command.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTree {
    pub(crate) leader: Pid,
    pub(crate) mark: String,
    /// Whether the leader and its first child only hold a sandbox together; they end by themselves.
    pub(crate) in_sandbox: bool,
}

struct Seen {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
}

impl ProcessTree {
    /// The processes that live.
    pub(crate) fn members(&self) -> BTreeSet<i32> {
        let all = processes();
        let leader = self.leader.as_raw_nonzero().get();
        let mark = format!("{MARK}={}", self.mark);
        let mut members: BTreeSet<i32> = all
            .iter()
            .filter(|seen| {
                seen.pid == leader
                    || seen.group == leader
                    || seen.session == leader
                    || has_mark(seen.pid, &mark)
            })
            .map(|seen| seen.pid)
            .collect();
        loop {
            let more: Vec<i32> = all
                .iter()
                .filter(|seen| members.contains(&seen.parent) && !members.contains(&seen.pid))
                .map(|seen| seen.pid)
                .collect();
            if more.is_empty() {
                return members;
            }
            members.extend(more);
        }
    }

    /// Asks everything to end, and ends what hasn't after the grace.
    pub(crate) fn stop(&self, grace: Duration) {
        self.signal(Signal::TERM, self.in_sandbox);
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline {
            if self.members().is_empty() {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.kill();
    }

    /// Ends everything, again and again until nothing is left: what is killed may have started others.
    pub(crate) fn kill(&self) {
        let deadline = Instant::now() + GIVE_UP;
        while !self.members().is_empty() && Instant::now() < deadline {
            self.signal(Signal::KILL, false);
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Ends everything but the leader, which is who calls.
    #[cfg(target_os = "linux")]
    pub(crate) fn kill_all_but_leader(&self) {
        let leader = self.leader.as_raw_nonzero().get();
        let deadline = Instant::now() + GIVE_UP;
        loop {
            let mut others = self.members();
            others.remove(&leader);
            if others.is_empty() || Instant::now() >= deadline {
                return;
            }
            for pid in others.into_iter().filter_map(Pid::from_raw) {
                // It may have ended in the meantime.
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn signal(&self, signal: Signal, sparing_the_helpers: bool) {
        let leader = self.leader.as_raw_nonzero().get();
        if !cfg!(target_os = "linux") {
            let _ = kill_process_group(self.leader, signal);
            return;
        }
        let helpers: BTreeSet<i32> = if sparing_the_helpers {
            let children = processes().into_iter().filter(|seen| seen.parent == leader);
            children.map(|seen| seen.pid).chain([leader]).collect()
        } else {
            BTreeSet::new()
        };
        for pid in self.members().difference(&helpers) {
            if let Some(pid) = Pid::from_raw(*pid) {
                // It may have ended in the meantime.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

fn has_mark(pid: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|variable| variable == mark.as_bytes())
}

/// All processes but those that have ended and are only still to be asked about.
fn processes() -> Vec<Seen> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, also parentheses and blanks.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let mut number = || fields.next()?.parse().ok();
        Some(Seen {
            pid,
            parent: number()?,
            group: number()?,
            session: number()?,
        })
    })
    .collect()
}
