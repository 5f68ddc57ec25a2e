//! The helper: two stages of one program. The first leaves the namespaces of the others and stays outside, to end
//! everything when the program is gone; the second is the first process inside, puts itself into the bounds and runs
//! the shell.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sched::CloneFlags;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use crate::process_tree::{MARK, ProcessTree};

use super::layers::{drop_rights, keep_rights, mount_shields, restrict_files};
use super::system_calls::restrict_calls;
use super::wire::{Order, Report, receive, send};
use super::{Enforcement, Layer, Missing};

/// The exit code of a helper that failed before the shell ran.
const FAILED: i32 = 125;

/// What the helper's program does: `arguments` are those after the ones in [`super::Helper::arguments`]. Returns the
/// exit code of the process.
pub fn helper_main(arguments: &[String]) -> i32 {
    let outcome = match arguments {
        [stage] if stage == "enter" => enter(),
        [stage, so_far] if stage == "inside" => inside(so_far),
        _ => Err(io::Error::other(
            "this program is started by Folkmoot, to run commands within bounds",
        )),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("sandbox: {error}");
        FAILED
    })
}

/// The socket that is the standard input.
fn socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

fn enter() -> io::Result<i32> {
    let mut socket = socket()?;
    let order: Order = receive(&mut socket)?;
    rustix::process::setsid()?;
    close_fds::set_fds_cloexec(3, &[]);
    let mut so_far = Enforcement::default();
    if let Err(error) = leave_namespaces(order.policy.network) {
        let mut layers = vec![Layer::Shields, Layer::Processes];
        layers.extend((!order.policy.network).then_some(Layer::Network));
        so_far.missing = layers
            .into_iter()
            .map(|layer| Missing {
                layer,
                why: format!("the kernel allows no namespaces here: {error}"),
            })
            .collect();
    } else {
        so_far.enforced.push(Layer::Processes);
        so_far
            .enforced
            .extend((!order.policy.network).then_some(Layer::Network));
    }
    let mut next = Command::new(std::env::current_exe()?);
    let own: Vec<_> = std::env::args_os().skip(1).collect();
    next.args(&own[..own.len() - 1])
        .arg("inside")
        .arg(serde_json::to_string(&so_far)?);
    next.stdin(Stdio::from(socket.as_fd().try_clone_to_owned()?));
    let child = next.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
    watch_over(pid, &socket, so_far.has(Layer::Processes))
}

fn leave_namespaces(network: bool) -> io::Result<()> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    if !network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    nix::sched::unshare(flags)?;
    // Files keep their owners: one user, mapped to itself.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
    keep_rights()
}

/// Waits for the stage inside; ends it if the program at the other end of the socket is gone. `alone` says that the
/// stage is the first process of a namespace.
fn watch_over(child: Pid, socket: &UnixStream, alone: bool) -> io::Result<i32> {
    let process = rustix::process::pidfd_open(child, PidfdFlags::empty())?;
    loop {
        let mut fds = [
            PollFd::new(&process, PollFlags::IN),
            // Only that it is closed: what is said is for the stage inside.
            PollFd::new(socket, PollFlags::RDHUP),
        ];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        if !fds[1].revents().is_empty() {
            if alone {
                // The end of the first process of a namespace is the end of all. Their numbers are others here.
                let _ = rustix::process::kill_process(child, Signal::KILL);
            } else {
                end_everything();
            }
            let waited = rustix::process::waitpid(Some(child), WaitOptions::empty())?;
            return Ok(waited.map_or(FAILED, |(_, status)| code_of(status)));
        }
        if let Some((_, status)) = rustix::process::waitpid(Some(child), WaitOptions::NOHANG)? {
            return Ok(code_of(status));
        }
    }
}

/// Without a namespace of processes those of the command are looked for.
fn end_everything() {
    let tree = ProcessTree {
        leader: rustix::process::getpid(),
        mark: std::env::var(MARK).unwrap_or_default(),
        in_sandbox: true,
    };
    tree.kill_all_but_leader();
}

/// As shells tell it: a signal is 128 and its number.
fn code_of(status: WaitStatus) -> i32 {
    let by_signal = || status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or_else(by_signal).unwrap_or(FAILED)
}

fn inside(so_far: &str) -> io::Result<i32> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut socket = socket()?;
    let order: Order = receive(&mut socket)?;
    let mut enforcement: Enforcement = serde_json::from_str(so_far)?;
    let bounds = bound(&order, &mut enforcement);
    let report = match bounds {
        Ok(()) => Report::Ready(enforcement),
        Err(error) => Report::Refused(format!(
            "the sandbox can't be made, so nothing runs: {error}"
        )),
    };
    send(&mut socket, &report)?;
    drop(socket);
    if let Report::Refused(_) = report {
        return Ok(FAILED);
    }
    let mut shell = Command::new(&order.shell);
    shell
        .arg("-c")
        .arg(&order.command)
        .current_dir(&order.folder)
        .stdin(Stdio::null());
    // A group of its own, so that what is sent to the command's group doesn't reach the helper.
    let child = shell.process_group(0).spawn()?;
    let pid = i32::try_from(child.id()).ok();
    loop {
        // As the first process inside it also takes in what has lost its parent.
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if Some(ended.as_raw_nonzero().get()) == pid => {
                return Ok(code_of(status));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Puts the bounds in force, in the order in which one doesn't stand in the way of the next.
fn bound(order: &Order, enforcement: &mut Enforcement) -> io::Result<()> {
    if enforcement.has(Layer::Processes) {
        match mount_shields(&order.policy) {
            Ok(()) => enforcement.enforced.push(Layer::Shields),
            Err(error) => {
                enforcement
                    .enforced
                    .retain(|layer| *layer != Layer::Processes);
                let missing = [
                    (Layer::Shields, error.to_string()),
                    (
                        Layer::Processes,
                        format!("others can be seen, though not reached: {error}"),
                    ),
                ];
                let missing = missing.map(|(layer, why)| Missing { layer, why });
                enforcement.missing.extend(missing);
            }
        }
    }
    drop_rights()?;
    enforcement.enforced.push(Layer::Rights);
    restrict_files(&order.policy, enforcement)?;
    restrict_calls(&order.policy)?;
    enforcement.enforced.push(Layer::SystemCalls);
    Ok(())
}
