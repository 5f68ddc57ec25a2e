//! A display without a monitor, and a person's hands on it.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Running;

/// Far longer than a window takes to draw anything.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// What a window showed at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Screen {
    /// Opens a display; where this machine has none, says so and gives `None`.
    ///
    /// # Panics
    /// When there is none and `FOLKMOOT_TEST_SCREEN` is set, as it is where the machine was made ready for the tests.
    pub fn open_or_skip() -> Option<Self> {
        match Self::open() {
            Ok(screen) => Some(screen),
            Err(reason) if std::env::var_os("FOLKMOOT_TEST_SCREEN").is_some() => {
                panic!("no display: {reason}")
            }
            Err(reason) => {
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

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

    /// What the window shows now.
    ///
    /// # Errors
    /// When ImageMagick isn't there or refuses.
    pub fn picture(&self) -> Result<Picture, String> {
        let output = Command::new("import")
            .args(["-window", &self.id, "-depth", "8", "ppm:-"])
            .env("DISPLAY", &self.screen.display)
            .output()
            .map_err(|error| format!("import can't be started: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Picture::from_ppm(&output.stdout).ok_or_else(|| "import gave no picture".to_owned())
    }

    /// Looks at the window until it shows what `is_right` wants.
    ///
    /// # Panics
    /// When that does not come about in a minute; the last picture lies in the folder for temporary files then.
    pub fn wait_for_picture(&self, what: &str, is_right: impl Fn(&Picture) -> bool) -> Picture {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let picture = self.picture().expect("a picture");
            if is_right(&picture) {
                return picture;
            }
            if Instant::now() > deadline {
                let path = std::env::temp_dir().join("folkmoot-last-picture.ppm");
                picture.save(&path).expect("the picture is written");
                panic!("the window never showed {what}; {}", path.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Picture {
    /// Reads a binary PPM of 8 bits a channel.
    fn from_ppm(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut words = Vec::new();
        while words.len() < 4 {
            let end = rest.iter().position(u8::is_ascii_whitespace)?;
            words.push(std::str::from_utf8(&rest[..end]).ok()?);
            rest = &rest[end + 1..];
        }
        let (width, height) = (words[1].parse().ok()?, words[2].parse::<usize>().ok()?);
        let pixels: Vec<[u8; 3]> = rest.as_chunks().0.to_vec();
        let is_whole = words[0] == "P6" && words[3] == "255" && pixels.len() == width * height;
        is_whole.then_some(Self { width, pixels })
    }

    /// How many colours it has.
    pub fn colours(&self) -> usize {
        self.pixels.iter().collect::<HashSet<_>>().len()
    }

    /// The share of pixels, from 0 to 1, that another picture has in a clearly different colour. Pictures of
    /// different sizes differ everywhere.
    pub fn difference(&self, other: &Self) -> f64 {
        if (self.width, self.pixels.len()) != (other.width, other.pixels.len()) {
            return 1.0;
        }
        let differ = |(a, b): &(&[u8; 3], &[u8; 3])| {
            let channels = a.iter().zip(b.iter());
            channels.map(|(a, b)| a.abs_diff(*b)).max() > Some(24)
        };
        let count = self.pixels.iter().zip(&other.pixels).filter(differ).count();
        count as f64 / self.pixels.len().max(1) as f64
    }

    /// Writes it as a binary PPM.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let height = self.pixels.len() / self.width.max(1);
        let mut bytes = format!("P6\n{} {height}\n255\n", self.width).into_bytes();
        bytes.extend(self.pixels.as_flattened());
        std::fs::write(path, bytes)
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
