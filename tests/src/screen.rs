//! A display without a monitor, and a person's hands on it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::Running;

/// A virtual X display. What runs on it is killed when it is dropped.
#[derive(Debug)]
pub struct Screen {
    server: Child,
    window_manager: Option<Child>,
    display: String,
}

/// A window on a screen.
#[derive(Debug)]
pub struct Window<'a> {
    screen: &'a Screen,
    id: String,
}

impl Screen {
    /// Opens a display of 1280 by 800 pixels with a number of its own.
    ///
    /// # Errors
    /// What is missing on this machine.
    pub fn open() -> Result<Self, String> {
        is_there("xdotool", "version")?;
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x800x24",
                "-nolisten",
                "tcp",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("Xvfb can't be started: {error}"))?;
        let mut number = String::new();
        if let Some(stdout) = server.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut number)
                .map_err(|error| error.to_string())?;
        }
        if number.trim().is_empty() {
            return Err("Xvfb opens no display".to_owned());
        }
        let display = format!(":{}", number.trim());
        let window_manager = Command::new("openbox")
            .env("DISPLAY", &display)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok();
        Ok(Self {
            server,
            window_manager,
            display,
        })
    }

    /// For the environment of what shall run here.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The window of a program, once it is seen, with the focus on it.
    pub fn window_of(&self, program: &Running) -> Window<'_> {
        let pid = program.pid().to_string();
        let found = self.xdotool(&["search", "--sync", "--onlyvisible", "--pid", &pid]);
        let id = found.lines().last().expect("a visible window").to_owned();
        self.xdotool(&["windowfocus", "--sync", &id]);
        Window { screen: self, id }
    }

    fn xdotool(&self, args: &[&str]) -> String {
        let mut command = Command::new("timeout");
        command
            .args(["60", "xdotool"])
            .args(args)
            .env("DISPLAY", &self.display);
        let output = command.output().expect("xdotool starts");
        assert!(
            output.status.success(),
            "xdotool {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn is_there(program: &str, argument: &str) -> Result<(), String> {
    let started = Command::new(program)
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    started
        .map(|_| ())
        .map_err(|error| format!("{program} can't be started: {error}"))
}

impl Window<'_> {
    /// Types text, a character at a time.
    pub fn type_text(&self, text: &str) {
        self.screen.xdotool(&["type", "--delay", "15", text]);
    }

    /// Presses keys, named as X names them: `Return`, `ctrl+q`.
    pub fn press(&self, keys: &str) {
        self.screen.xdotool(&["key", keys]);
    }

    /// Takes a picture as a PNG file; returns how many colours it has, or why there is none.
    ///
    /// # Errors
    /// When ImageMagick isn't there or refuses.
    pub fn picture(&self, path: &Path) -> Result<usize, String> {
        for target in [
            format!("png:{}", path.display()),
            format!("ppm:{}.ppm", path.display()),
        ] {
            let mut command = Command::new("import");
            command
                .args(["-window", &self.id, "-depth", "8", &target])
                .env("DISPLAY", &self.screen.display);
            let output = command
                .output()
                .map_err(|error| format!("import can't be started: {error}"))?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::open(format!("{}.ppm", path.display()));
        file.and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| error.to_string())?;
        // The head of the file counts for a few colours at most.
        let colours: std::collections::HashSet<&[u8]> = bytes.chunks_exact(3).collect();
        Ok(colours.len())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        for child in self.window_manager.iter_mut().chain([&mut self.server]) {
            // It may have ended by itself.
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}
