//! The modules that come with a language.

/// Top-level modules of the Python standard library, 3.8 to 3.14, sorted (`sys.stdlib_module_names`).
#[rustfmt::skip]
const PYTHON: [&str; 314] = [
    "__future__", "_abc", "_aix_support", "_ast", "_asyncio", "_bisect", "_blake2", "_bootsubprocess", "_bz2",
    "_codecs", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr", "_codecs_tw",
    "_collections", "_collections_abc", "_compat_pickle", "_compression", "_contextvars", "_crypt", "_csv",
    "_ctypes", "_curses", "_curses_panel", "_datetime", "_dbm", "_decimal", "_elementtree", "_frozen_importlib",
    "_frozen_importlib_external", "_functools", "_gdbm", "_hashlib", "_heapq", "_imp", "_io", "_json",
    "_locale", "_lsprof", "_lzma", "_markupbase", "_md5", "_msi", "_multibytecodec", "_multiprocessing",
    "_opcode", "_operator", "_osx_support", "_overlapped", "_pickle", "_posixshmem", "_posixsubprocess",
    "_py_abc", "_pydecimal", "_pyio", "_queue", "_random", "_scproxy", "_sha1", "_sha256", "_sha3", "_sha512",
    "_signal", "_sitebuiltins", "_socket", "_sqlite3", "_sre", "_ssl", "_stat", "_statistics", "_string",
    "_strptime", "_struct", "_symtable", "_thread", "_threading_local", "_tkinter", "_tokenize", "_tracemalloc",
    "_typeshed", "_typing", "_uuid", "_warnings", "_weakref", "_weakrefset", "_winapi", "_zoneinfo", "abc",
    "aifc", "annotationlib", "antigravity", "argparse", "array", "ast", "asynchat", "asyncio", "asyncore",
    "atexit", "audioop", "base64", "bdb", "binascii", "binhex", "bisect", "builtins", "bz2", "cProfile",
    "calendar", "cgi", "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections", "colorsys",
    "compileall", "compression", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg",
    "crypt", "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis",
    "distutils", "doctest", "dummy_threading", "email", "encodings", "ensurepip", "enum", "errno",
    "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch", "formatter", "fractions", "ftplib", "functools",
    "gc", "genericpath", "getopt", "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq",
    "hmac", "html", "http", "idlelib", "imaplib", "imghdr", "imp", "importlib", "inspect", "io", "ipaddress",
    "itertools", "json", "keyword", "lib2to3", "linecache", "locale", "logging", "lzma", "macpath", "mailbox",
    "mailcap", "marshal", "math", "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt", "multiprocessing",
    "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers", "opcode", "operator", "optparse", "os",
    "ossaudiodev", "parser", "pathlib", "pdb", "pickle", "pickletools", "pipes", "pkgutil", "platform",
    "plistlib", "poplib", "posix", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile",
    "pyclbr", "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib",
    "resource", "rlcompleter", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil",
    "signal", "site", "smtpd", "smtplib", "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile",
    "sre_constants", "sre_parse", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess",
    "sunau", "symbol", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile",
    "termios", "textwrap", "this", "threading", "time", "timeit", "tkinter", "token", "tokenize", "tomllib",
    "trace", "traceback", "tracemalloc", "tty", "turtle", "turtledemo", "types", "typing", "unicodedata",
    "unittest", "urllib", "uu", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg",
    "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
];

/// Built-in modules of Node.js, sorted (`module.builtinModules`).
#[rustfmt::skip]
const NODE: [&str; 59] = [
    "assert", "assert/strict", "async_hooks", "buffer", "child_process", "cluster", "console", "constants",
    "crypto", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain", "events", "fs", "fs/promises",
    "http", "http2", "https", "inspector", "inspector/promises", "module", "net", "os", "path", "path/posix",
    "path/win32", "perf_hooks", "process", "punycode", "querystring", "readline", "readline/promises", "repl",
    "sea", "sqlite", "stream", "stream/consumers", "stream/promises", "stream/web", "string_decoder", "sys",
    "test", "test/mock_loader", "test/reporters", "timers", "timers/promises", "tls", "trace_events", "tty",
    "url", "util", "util/types", "v8", "vm", "wasi", "worker_threads", "zlib",
];

/// Headers of the C and C++ standards and of POSIX, sorted.
#[rustfmt::skip]
const C_HEADERS: [&str; 202] = [
    "aio.h", "algorithm", "any", "arpa/inet.h", "array", "assert.h", "atomic", "barrier", "bit", "bitset",
    "cassert", "cctype", "cerrno", "cfenv", "cfloat", "charconv", "chrono", "cinttypes", "climits", "clocale",
    "cmath", "codecvt", "compare", "complex", "complex.h", "concepts", "condition_variable", "coroutine", "cpio.h",
    "csetjmp", "csignal", "cstdarg", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "ctype.h",
    "cuchar", "cwchar", "cwctype", "deque", "dirent.h", "dlfcn.h", "errno.h", "exception", "execution", "expected",
    "fcntl.h", "fenv.h", "filesystem", "flat_map", "flat_set", "float.h", "fmtmsg.h", "fnmatch.h", "format",
    "forward_list", "fstream", "ftw.h", "functional", "future", "generator", "glob.h", "grp.h", "iconv.h",
    "initializer_list", "inttypes.h", "iomanip", "ios", "iosfwd", "iostream", "iso646.h", "istream", "iterator",
    "langinfo.h", "latch", "libgen.h", "limits", "limits.h", "list", "locale", "locale.h", "malloc.h", "map",
    "math.h", "mdspan", "memory", "memory_resource", "monetary.h", "mqueue.h", "mutex", "net/if.h", "netdb.h",
    "netinet/in.h", "netinet/tcp.h", "new", "nl_types.h", "numbers", "numeric", "optional", "ostream", "poll.h",
    "print", "pthread.h", "pwd.h", "queue", "random", "ranges", "ratio", "regex", "regex.h", "sched.h",
    "scoped_allocator", "search.h", "semaphore", "semaphore.h", "set", "setjmp.h", "shared_mutex", "signal.h",
    "source_location", "span", "spanstream", "spawn.h", "sstream", "stack", "stacktrace", "stdalign.h", "stdarg.h",
    "stdatomic.h", "stdbit.h", "stdbool.h", "stdckdint.h", "stddef.h", "stdexcept", "stdfloat", "stdint.h",
    "stdio.h", "stdlib.h", "stdnoreturn.h", "stop_token", "streambuf", "string", "string.h", "string_view",
    "strings.h", "stropts.h", "strstream", "syncstream", "sys/epoll.h", "sys/file.h", "sys/ioctl.h", "sys/ipc.h",
    "sys/mman.h", "sys/msg.h", "sys/param.h", "sys/prctl.h", "sys/resource.h", "sys/select.h", "sys/sem.h",
    "sys/shm.h", "sys/socket.h", "sys/stat.h", "sys/statvfs.h", "sys/syscall.h", "sys/time.h", "sys/times.h",
    "sys/types.h", "sys/uio.h", "sys/un.h", "sys/utsname.h", "sys/wait.h", "syslog.h", "system_error", "tar.h",
    "termios.h", "tgmath.h", "thread", "threads.h", "time.h", "tuple", "type_traits", "typeindex", "typeinfo",
    "uchar.h", "ulimit.h", "unistd.h", "unordered_map", "unordered_set", "utility", "utime.h", "utmpx.h",
    "valarray", "variant", "vector", "version", "wchar.h", "wctype.h", "windows.h", "wordexp.h",
];

/// Libraries that come with Ruby, sorted; those below one of them count as well.
#[rustfmt::skip]
const RUBY: [&str; 90] = [
    "English", "abbrev", "base64", "benchmark", "bigdecimal", "bundler", "cgi", "coverage", "csv", "date",
    "delegate", "did_you_mean", "digest", "drb", "erb", "etc", "expect", "fcntl", "fiddle", "fileutils", "find",
    "forwardable", "getoptlong", "io/console", "io/nonblock", "io/wait", "ipaddr", "irb", "json", "logger",
    "matrix", "minitest", "monitor", "mutex_m", "net/ftp", "net/http", "net/imap", "net/pop", "net/protocol",
    "net/smtp", "nkf", "objspace", "observer", "open-uri", "open3", "openssl", "optparse", "ostruct", "pathname",
    "pp", "prettyprint", "prime", "pstore", "psych", "pty", "racc", "rake", "rbconfig", "rdoc", "readline",
    "reline", "resolv", "rexml", "rinda", "ripper", "rss", "rubygems", "securerandom", "set", "shellwords",
    "singleton", "socket", "stringio", "strscan", "syslog", "tempfile", "test/unit", "thread", "time", "timeout",
    "tmpdir", "tracer", "tsort", "un", "unicode_normalize", "uri", "weakref", "win32ole", "yaml", "zlib",
];

/// Whether a dotted Python module belongs to the standard library.
#[must_use]
pub(crate) fn is_python(module: &str) -> bool {
    let top = module.split('.').next().unwrap_or(module);
    PYTHON.binary_search(&top).is_ok()
}

/// Whether a specifier names a built-in module of Node.js, with or without `node:`.
#[must_use]
pub(crate) fn is_node(specifier: &str) -> bool {
    specifier.starts_with("node:") || NODE.binary_search(&specifier).is_ok()
}

/// Whether a header belongs to the standards of C, C++ or POSIX.
#[must_use]
pub(crate) fn is_c_header(path: &str) -> bool {
    C_HEADERS.binary_search(&path).is_ok()
}

/// Whether a library comes with Ruby.
#[must_use]
pub(crate) fn is_ruby(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or(path);
    RUBY.binary_search(&path).is_ok() || RUBY.binary_search(&top).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_answer() {
        assert!(PYTHON.is_sorted() && NODE.is_sorted());
        assert!(C_HEADERS.is_sorted() && RUBY.is_sorted());
        assert!(
            is_c_header("sys/types.h") && is_c_header("vector") && !is_c_header("boost/any.hpp")
        );
        assert!(is_ruby("json") && is_ruby("digest/md5") && !is_ruby("rails"));
        assert!(is_python("os.path") && is_python("__future__") && !is_python("numpy"));
        assert!(is_node("fs/promises") && is_node("node:test") && !is_node("express"));
    }
}
