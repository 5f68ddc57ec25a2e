//! The names under which speakers appear in prompts.

use std::borrow::Cow;

use transcript::SeatId;

use crate::Seat;

/// The person's name in a label.
pub(crate) const USER: &str = "User";
/// The table's own name in a label.
pub(crate) const SYSTEM: &str = "System";

/// One name for each seat, none of them alike: where two seats share a display name, or one is called like
/// the person, the id follows in parentheses.
pub(crate) struct SpeakerNames(Vec<(SeatId, String)>);

impl SpeakerNames {
    /// Names for the seats of a table, switched-off ones included, since they may have spoken before.
    pub(crate) fn of(table: &[Seat]) -> Self {
        let plain: Vec<String> = table.iter().map(plain_name).collect();
        let taken = |at: usize| {
            let name = plain[at].to_lowercase();
            [USER, SYSTEM].iter().any(|n| n.to_lowercase() == name)
                || plain
                    .iter()
                    .enumerate()
                    .any(|(other, n)| other != at && n.to_lowercase() == name)
        };
        Self(
            table
                .iter()
                .enumerate()
                .map(|(at, seat)| {
                    let name = if taken(at) {
                        name_with_id(seat)
                    } else {
                        plain[at].clone()
                    };
                    (seat.id.clone(), name)
                })
                .collect(),
        )
    }

    /// The name of a speaker. One that has left the table goes by its id.
    pub(crate) fn of_seat<'a>(&'a self, id: &'a SeatId) -> Cow<'a, str> {
        if let Some((_, name)) = self.0.iter().find(|(known, _)| known == id) {
            return Cow::Borrowed(name);
        }
        let lower = id.as_str().to_lowercase();
        if self.0.iter().any(|(_, name)| name.to_lowercase() == lower) {
            Cow::Owned(format!("{id} (departed)"))
        } else {
            Cow::Borrowed(id.as_str())
        }
    }
}

/// A display name that can stand between brackets on one line; the id where it is blank.
pub(crate) fn plain_name(seat: &Seat) -> String {
    let clean: String = seat
        .display_name
        .trim()
        .chars()
        .map(|c| match c {
            '[' => '(',
            ']' => ')',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    if clean.is_empty() {
        seat.id.as_str().to_owned()
    } else {
        clean
    }
}

/// The name that tells a seat from another one of the same display name.
pub(crate) fn name_with_id(seat: &Seat) -> String {
    format!("{} ({})", plain_name(seat), seat.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_of_one_name_are_told_apart_by_id() {
        let table = [
            Seat::new("a", "Claude", "sidecar", "m"),
            Seat::new("b", "claude", "sidecar", "m"),
            Seat::new("c", "User", "sidecar", "m"),
            Seat::new("d", "GPT [beta]\n", "sidecar", "m"),
            Seat::new("e", " ", "sidecar", "m"),
        ];
        let names = SpeakerNames::of(&table);
        let of = |id: &str| names.of_seat(&id.into()).into_owned();
        assert_eq!(of("a"), "Claude (a)");
        assert_eq!(of("b"), "claude (b)");
        assert_eq!(of("c"), "User (c)");
        assert_eq!(of("d"), "GPT (beta)");
        assert_eq!(of("e"), "e");
        assert_eq!(of("long-gone"), "long-gone");
        assert_eq!(of("E"), "E (departed)");
    }
}
