//! The names most like one that isn't known.

/// As many are told.
const TOLD: usize = 3;

/// The names most like `wanted`, the most similar first; none where nothing is similar.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: String = wanted.chars().take(100).collect::<String>().to_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .filter_map(|name| Some((unlikeness(&wanted, name)?, name)))
        .collect();
    scored.sort_unstable();
    scored
        .into_iter()
        .take(TOLD)
        .map(|(_, name)| name)
        .collect()
}

/// Steps between two names, or none if they have too little in common. A shared word counts as near.
fn unlikeness(wanted: &str, name: &str) -> Option<usize> {
    let known = name.to_lowercase();
    let steps = distance(wanted, &known);
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !c.is_alphanumeric());
        parts
            .filter(|word| word.len() > 2)
            .map(str::to_owned)
            .collect()
    };
    let known_words = words(&known);
    let shares_word = words(wanted).iter().any(|word| known_words.contains(word));
    (steps * 3 <= wanted.len().max(known.len()) || shares_word).then_some(steps)
}

/// Levenshtein's distance.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, from) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, to) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_and_half_remembered_names_are_found_and_strangers_are_not() {
        let names = ["read_file", "write_file", "search_files", "run_command"];
        let near = |wanted| nearest(wanted, names.into_iter());
        assert_eq!(near("readfile")[0], "read_file");
        assert_eq!(near("Read_Fiel")[0], "read_file");
        assert_eq!(near("search")[0], "search_files");
        assert_eq!(near("execute_command"), ["run_command"]);
        assert_eq!(near("teleport"), [""; 0]);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
