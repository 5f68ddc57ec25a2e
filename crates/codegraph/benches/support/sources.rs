//! TypeScript sources of a made-up folder.

use std::fmt::Write as _;

/// How many there are.
pub(crate) const FILES: usize = 10_000;

/// A module of about 2 kB that imports five others.
pub(crate) fn source(number: usize) -> String {
    let mut text = String::new();
    for step in [1, 7, 31, 101, 577] {
        let target = (number + step) % FILES;
        let _ = writeln!(
            text,
            "import {{ f{target}, type T{target} }} from '../d{}/m{target}';",
            target / 100
        );
    }
    let _ = writeln!(
        text,
        "export interface T{number} {{ a: string; b: number[] }}"
    );
    for function in 0..12 {
        let _ = writeln!(
            text,
            "function g{function}(a: number, b: string) {{ const c = [a, a * 2].map((v) => ({{ v, b }})); return c.length > 3 ? c[0] : null; }}"
        );
    }
    let _ = writeln!(
        text,
        "export function f{number}() {{ return g0(1, 'x') ?? f{}(); }}",
        (number + 1) % FILES
    );
    text
}

/// Where it lies.
pub(crate) fn path(number: usize) -> String {
    format!("src/d{}/m{number}.ts", number / 100)
}
