//! Points in time as the thread file writes them: ISO 8601 in UTC with milliseconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time. Written as `2026-11-30T17:05:09.123Z`; any RFC 3339 form is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// The current time of the operating system's clock.
    pub fn now() -> Self {
        Self(jiff::Timestamp::now())
    }

    /// From milliseconds since the Unix epoch, clamped to the years -9999 to 9999.
    pub fn from_millis(millis: i64) -> Self {
        let bounded = millis.clamp(
            jiff::Timestamp::MIN.as_millisecond() + 1,
            jiff::Timestamp::MAX.as_millisecond() - 1,
        );
        Self(jiff::Timestamp::from_millisecond(bounded).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// Milliseconds since the Unix epoch.
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl serde::de::Visitor<'_> for TextVisitor {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an ISO 8601 timestamp")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn a_timestamp_is_written_with_milliseconds_and_read_in_any_rfc_3339_form() {
        let time: Timestamp = "2026-11-30T18:05:09+01:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-11-30T17:05:09.000Z");
        assert_eq!(Timestamp::from_millis(time.as_millis()), time);
    }
}
