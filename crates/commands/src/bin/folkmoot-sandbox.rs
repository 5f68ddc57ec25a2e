//! The helper as a program of its own: for tests, and for whoever uses this crate without a program that can start
//! itself.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(target_os = "linux")]
    let code = commands::helper_main(&arguments);
    #[cfg(not(target_os = "linux"))]
    let code = {
        drop(arguments);
        eprintln!("there is no sandbox on this system");
        125
    };
    std::process::ExitCode::from(u8::try_from(code).unwrap_or(125))
}
