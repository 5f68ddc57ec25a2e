//! A tree of text files for benches: source-like lines from a fixed generator, so that every run measures the same.

use std::fs;
use std::path::Path;

/// Makes `files` files of about `bytes` bytes each, a hundred to a folder. Every fiftieth has the word `needle42`.
pub(crate) fn make(folder: &Path, files: usize, bytes: usize) {
    let words = [
        "fn", "let", "value", "index", "return", "match", "self", "option", "result", "buffer",
        "length", "{", "}", "(", ");",
    ];
    let mut dice: u64 = 0x9e37_79b9_7f4a_7c15;
    for number in 0..files {
        let below = folder.join(format!("d{:03}", number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&below).unwrap();
        }
        let mut text = String::with_capacity(bytes + 80);
        let mut column = 0;
        while text.len() < bytes {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            text.push_str(words[(dice % words.len() as u64) as usize]);
            column += 1;
            text.push(if column % 9 == 0 { '\n' } else { ' ' });
        }
        if number % 50 == 7 {
            text.push_str("the needle42 is here\n");
        }
        fs::write(below.join(format!("f{number}.rs")), text).unwrap();
    }
}
