//! Folkmoot: a person and several AI models at one table over the person's code.

fn main() {}
