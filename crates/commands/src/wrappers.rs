//! Programs that run other programs: what they would run is what matters.

use crate::word::Word;

/// What a wrapper would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// A program with its arguments; `more` says that others are added which aren't known.
    Words { words: Vec<Word>, more: bool },
    /// A command of the shell.
    Script(String),
    /// Several programs.
    Several(Vec<Vec<Word>>),
    /// Nothing: the wrapper only tells something.
    Nothing,
    /// It can't be told.
    Unknown(&'static str),
}

/// How a wrapper's own arguments are stepped over.
struct Wrapper {
    name: &'static str,
    /// Flags whose value is the next word.
    with_value: &'static [&'static str],
    /// Flags without a value.
    bare: &'static [&'static str],
    /// Words of its own before the program.
    own_words: usize,
}

const WRAPPERS: [Wrapper; 13] = [
    Wrapper {
        name: "timeout",
        with_value: &["-k", "-s", "--kill-after", "--signal"],
        bare: &[
            "-v",
            "-f",
            "-p",
            "--foreground",
            "--preserve-status",
            "--verbose",
        ],
        own_words: 1,
    },
    Wrapper {
        name: "nice",
        with_value: &["-n", "--adjustment"],
        bare: &[],
        own_words: 0,
    },
    Wrapper {
        name: "ionice",
        with_value: &["-c", "-n", "--class", "--classdata"],
        bare: &["-t", "--ignore"],
        own_words: 0,
    },
    Wrapper {
        name: "stdbuf",
        with_value: &["-i", "-o", "-e", "--input", "--output", "--error"],
        bare: &[],
        own_words: 0,
    },
    Wrapper {
        name: "nohup",
        with_value: &[],
        bare: &[],
        own_words: 0,
    },
    Wrapper {
        name: "setsid",
        with_value: &[],
        bare: &["-c", "-f", "-w", "--ctty", "--fork", "--wait"],
        own_words: 0,
    },
    Wrapper {
        name: "time",
        with_value: &["-f", "--format"],
        bare: &["-p", "-v", "--portability", "--verbose"],
        own_words: 0,
    },
    Wrapper {
        name: "command",
        with_value: &[],
        bare: &["-p"],
        own_words: 0,
    },
    Wrapper {
        name: "builtin",
        with_value: &[],
        bare: &[],
        own_words: 0,
    },
    Wrapper {
        name: "exec",
        with_value: &["-a"],
        bare: &["-c", "-l"],
        own_words: 0,
    },
    Wrapper {
        name: "chrt",
        with_value: &[],
        bare: &["-b", "-f", "-i", "-o", "-r"],
        own_words: 1,
    },
    Wrapper {
        name: "taskset",
        with_value: &[],
        bare: &["-c"],
        own_words: 1,
    },
    Wrapper {
        name: "sudo",
        with_value: &[
            "-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group",
            "--host", "--prompt", "--chdir",
        ],
        bare: &[
            "-A",
            "-b",
            "-E",
            "-H",
            "-i",
            "-k",
            "-K",
            "-n",
            "-P",
            "-S",
            "-s",
            "--login",
            "--preserve-env",
            "--non-interactive",
            "--stdin",
        ],
        own_words: 0,
    },
];

const SHELLS: [&str; 9] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish",
];

/// Whether the program reads commands of a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Whether the program runs as code what it reads.
pub(crate) fn is_interpreter(program: &str) -> bool {
    let named = [
        "perl",
        "ruby",
        "node",
        "deno",
        "bun",
        "php",
        "lua",
        "tclsh",
        "osascript",
        "pwsh",
        "ssh",
        "psql",
        "sqlite3",
        "ed",
        "ex",
        "vi",
        "vim",
        "gdb",
        "bc",
        "m4",
        "at",
        "tee",
        "patch",
        "git",
        "make",
        "cmake",
        "source",
        ".",
    ];
    is_shell(program) || program.starts_with("python") || named.contains(&program)
}

/// Programs that give others more rights than they have: whatever they run is asked about.
pub(crate) fn raises_rights(program: &str) -> bool {
    [
        "sudo", "doas", "su", "pkexec", "runuser", "chroot", "nsenter", "unshare",
    ]
    .contains(&program)
}

/// What the program would run; none if it is no wrapper.
pub(crate) fn inner(program: &str, arguments: &[Word]) -> Option<Inner> {
    if is_shell(program) {
        return shell(arguments);
    }
    match program {
        "env" => Some(env(arguments)),
        "xargs" => Some(xargs(arguments)),
        "find" => find(arguments),
        "eval" => Some(joined(arguments)),
        "watch" => Some(match plain_start(arguments) {
            Some(_) => joined(arguments),
            None => Inner::Unknown("the options of watch"),
        }),
        "busybox" | "toybox" => Some(words(arguments, false)),
        "doas" => Some(stepped(&WRAPPERS[12], arguments)),
        "su" | "runuser" | "script" => Some(
            match arguments
                .iter()
                .position(|word| word.text == "-c" || word.text == "--command")
            {
                Some(at) => script_at(arguments, at + 1),
                None => Inner::Unknown("what another user's shell is told"),
            },
        ),
        "flock" => Some(flock(arguments)),
        "trap" => Some(match arguments.first().map(Word::fixed) {
            Some(Some("-l" | "-p" | "-")) | None => Inner::Nothing,
            Some(Some(script)) => Inner::Script(script.to_owned()),
            Some(None) => Inner::Unknown("what is trapped"),
        }),
        "command"
            if arguments
                .first()
                .is_some_and(|word| word.text == "-v" || word.text == "-V") =>
        {
            Some(Inner::Nothing)
        }
        _ => WRAPPERS
            .iter()
            .find(|wrapper| wrapper.name == program)
            .map(|wrapper| stepped(wrapper, arguments)),
    }
}

fn plain_start(arguments: &[Word]) -> Option<&str> {
    arguments
        .first()
        .and_then(Word::fixed)
        .filter(|text| !text.starts_with('-'))
}

fn words(words: &[Word], more: bool) -> Inner {
    if words.is_empty() {
        return Inner::Nothing;
    }
    Inner::Words {
        words: words.to_vec(),
        more,
    }
}

fn joined(arguments: &[Word]) -> Inner {
    let texts: Option<Vec<&str>> = arguments.iter().map(Word::fixed).collect();
    match texts {
        Some(texts) => Inner::Script(texts.join(" ")),
        None => Inner::Unknown("a command that is put together when it runs"),
    }
}

fn script_at(arguments: &[Word], at: usize) -> Inner {
    match arguments.get(at).map(Word::fixed) {
        Some(Some(script)) => Inner::Script(script.to_owned()),
        _ => Inner::Unknown("a script that is put together when it runs"),
    }
}

fn stepped(wrapper: &Wrapper, arguments: &[Word]) -> Inner {
    let mut own_words = wrapper.own_words;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let Some(text) = argument.fixed() else {
            return Inner::Unknown("a wrapper's option that is put together when it runs");
        };
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || text == "-" {
            if own_words == 0 {
                break;
            }
            own_words -= 1;
            at += 1;
            continue;
        }
        at += match own_option(wrapper, text) {
            Some(length) => length,
            None => return Inner::Unknown("an option of a wrapper"),
        };
    }
    if own_words > 0 && at > 0 && arguments.get(at - 1).is_some_and(|word| word.text == "--") {
        at += own_words;
    }
    match arguments.get(at..) {
        Some(rest)
            if wrapper.name == "sudo"
                && arguments[..at]
                    .iter()
                    .any(|word| word.text == "-s" || word.text == "-i") =>
        {
            joined(rest)
        }
        Some(rest) => words(rest, false),
        None => Inner::Nothing,
    }
}

/// How many words the option takes.
fn own_option(wrapper: &Wrapper, text: &str) -> Option<usize> {
    if wrapper.with_value.contains(&text) {
        return Some(2);
    }
    if wrapper.bare.contains(&text) {
        return Some(1);
    }
    let long = text.split_once('=').map(|(name, _)| name);
    let attached =
        text.len() > 2 && !text.starts_with("--") && wrapper.with_value.contains(&&text[..2]);
    let number = wrapper.name == "nice"
        && text[1..]
            .trim_start_matches('-')
            .bytes()
            .all(|byte| byte.is_ascii_digit());
    let cluster = !text.starts_with("--")
        && text[1..]
            .chars()
            .all(|letter| wrapper.bare.contains(&format!("-{letter}").as_str()));
    (long.is_some_and(|name| wrapper.with_value.contains(&name)) || attached || number || cluster)
        .then_some(1)
}

fn shell(arguments: &[Word]) -> Option<Inner> {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let Some(text) = argument.fixed() else {
            return Some(Inner::Unknown(
                "an option of a shell that is put together when it runs",
            ));
        };
        if text == "-c"
            || (text.starts_with('-')
                && !text.starts_with("--")
                && text.ends_with('c')
                && text[1..].chars().all(|letter| "lexuinc".contains(letter)))
        {
            return Some(script_at(arguments, at + 1));
        }
        if text == "--version" || text == "--help" {
            return Some(Inner::Nothing);
        }
        if text == "-o"
            || text == "+o"
            || text == "-O"
            || text == "--rcfile"
            || text == "--init-file"
        {
            at += 2;
            continue;
        }
        if !text.starts_with('-') {
            return Some(Inner::Unknown("what a script file holds"));
        }
        at += 1;
    }
    // It reads commands from its input; who judges it looks at that.
    None
}

fn env(arguments: &[Word]) -> Inner {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.text.as_str();
        if argument.dynamic && !text.contains('=') {
            return Inner::Unknown("a program that is only known when it runs");
        }
        match text {
            "-i" | "-" | "-0" | "--ignore-environment" | "--null" | "-v" | "--debug" => at += 1,
            "-u" | "--unset" | "-C" | "--chdir" => at += 2,
            "-S" | "--split-string" => return script_at(arguments, at + 1),
            "--" => {
                at += 1;
                break;
            }
            _ if text.starts_with("-S") => return Inner::Script(text[2..].to_owned()),
            _ if text.starts_with("--split-string=") => {
                return Inner::Script(text["--split-string=".len()..].to_owned());
            }
            _ if text.starts_with("--unset=")
                || text.starts_with("--chdir=")
                || (text.starts_with("-u") && text.len() > 2) =>
            {
                at += 1;
            }
            _ if text.starts_with('-') => return Inner::Unknown("an option of env"),
            _ => match text.split_once('=') {
                Some((name, _)) if crate::policy::is_harmless_variable(name) => at += 1,
                Some(_) => return Inner::Unknown("a variable that may change what runs"),
                None => break,
            },
        }
    }
    arguments
        .get(at..)
        .map_or(Inner::Nothing, |rest| words(rest, false))
}

fn xargs(arguments: &[Word]) -> Inner {
    let with_value = [
        "-n",
        "-I",
        "-P",
        "-d",
        "-L",
        "-s",
        "-E",
        "-a",
        "--max-args",
        "--replace",
        "--max-procs",
        "--delimiter",
        "--max-lines",
        "--arg-file",
    ];
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let Some(text) = argument.fixed() else {
            return Inner::Unknown("an option of xargs that is put together when it runs");
        };
        if with_value.contains(&text) {
            at += 2;
        } else if text == "--" {
            at += 1;
            break;
        } else if text.starts_with('-') {
            at += 1;
        } else {
            break;
        }
    }
    match arguments.get(at..) {
        Some([]) | None => Inner::Words {
            words: vec![Word::plain("echo")],
            more: true,
        },
        Some(rest) => words(rest, true),
    }
}

fn find(arguments: &[Word]) -> Option<Inner> {
    let runs = ["-exec", "-execdir", "-ok", "-okdir"];
    let mut several = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest
        .iter()
        .position(|word| runs.contains(&word.text.as_str()))
    {
        rest = &rest[at + 1..];
        let end = rest
            .iter()
            .position(|word| word.text == ";" || word.text == "+")
            .unwrap_or(rest.len());
        several.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    (!several.is_empty()).then_some(Inner::Several(several))
}

fn flock(arguments: &[Word]) -> Inner {
    if let Some(at) = arguments
        .iter()
        .position(|word| word.text == "-c" || word.text == "--command")
    {
        return script_at(arguments, at + 1);
    }
    match arguments.split_first() {
        Some((file, rest)) if !file.text.starts_with('-') && !rest.is_empty() => words(rest, false),
        _ => Inner::Unknown("the options of flock"),
    }
}
