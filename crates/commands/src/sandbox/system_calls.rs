//! The layer that concerns system calls: seccomp refuses those that lead out of the other layers.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::SandboxPolicy;

/// Calls that no build, test or tool needs, and through which sandboxes were left before.
const REFUSED: [i64; 40] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_vhangup,
];

/// Calls by which others are reached.
const REACHING: [i64; 5] = [
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// The namespaces that a new process could be put into; see `clone(2)`.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// On x86-64 the calls of x32 are numbered from here; they would pass a filter that doesn't know them.
const X32: i64 = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn when(
    conditions: &[(u8, SeccompCmpArgLen, SeccompCmpOp, u64)],
) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().cloned();
    let conditions = conditions
        .map(|(argument, length, how, value)| SeccompCondition::new(argument, length, how, value));
    SeccompRule::new(conditions.collect::<Result<Vec<_>, _>>()?)
}

fn refused(policy: &SandboxPolicy) -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut rules: Rules = REFUSED.map(|call| (call, Vec::new())).into();
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    let datagram = u64::from(libc::SOCK_DGRAM.unsigned_abs());
    // Letters put into a terminal would be run by the shell that reads them.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        let rule = when(&[(
            1,
            Dword,
            Eq,
            u64::from(u32::try_from(request).unwrap_or(u32::MAX)),
        )])?;
        rules.entry(libc::SYS_ioctl).or_default().push(rule);
    }
    for bit in (0..32)
        .map(|bit| 1_u64 << bit)
        .filter(|bit| u64::from(NAMESPACES.unsigned_abs()) & bit != 0)
    {
        let rule = when(&[(0, Qword, MaskedEq(bit), bit)])?;
        rules.entry(libc::SYS_clone).or_default().push(rule);
    }
    if policy.network {
        let raw = [
            libc::AF_PACKET,
            libc::AF_VSOCK,
            libc::AF_ALG,
            libc::AF_BLUETOOTH,
        ];
        for family in raw {
            let rule = when(&[(0, Dword, Eq, u64::from(family.unsigned_abs()))])?;
            rules.entry(libc::SYS_socket).or_default().push(rule);
        }
        return Ok(rules);
    }
    rules.extend(REACHING.map(|call| (call, Vec::new())));
    // Sockets of other kinds, and such as send to an address without a connection.
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        rules.insert(
            call,
            vec![
                when(&[(0, Dword, Ne, unix)])?,
                when(&[(1, Dword, MaskedEq(0xf), datagram)])?,
            ],
        );
    }
    rules.insert(libc::SYS_sendto, vec![when(&[(4, Qword, Ne, 0)])?]);
    Ok(rules)
}

fn apply(mut rules: Rules, errno: i32) -> io::Result<()> {
    if cfg!(target_arch = "x86_64") {
        let doubled: Rules = rules
            .iter()
            .map(|(call, rules)| (call + X32, rules.clone()))
            .collect();
        rules.extend(doubled);
    }
    let told = |error: &dyn std::fmt::Display| io::Error::other(format!("seccomp: {error}"));
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    let here = std::env::consts::ARCH
        .try_into()
        .map_err(|error| told(&error))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, here)
        .map_err(|error| told(&error))?;
    let program: BpfProgram = filter.try_into().map_err(|error| told(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| told(&error))
}

/// Puts the filter in force, for this process and all it starts.
pub(super) fn restrict_calls(policy: &SandboxPolicy) -> io::Result<()> {
    // Its flags are out of a filter's sight; programs take the older call when there is none.
    apply(
        BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
        libc::ENOSYS,
    )?;
    let rules = refused(policy).map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    apply(rules, libc::EPERM)
}
