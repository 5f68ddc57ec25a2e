//! Within which bounds commands run, and whether these take the place of a question.

use commands::{Enforcement, Layer};
use serde::{Deserialize, Serialize};

/// What the person chose for the commands of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandboxing {
    /// Commands run as in the person's own terminal; each is asked about.
    #[default]
    Off,
    /// Commands run in a sandbox where there is one; each is asked about.
    Ask,
    /// Commands run in a sandbox, and those that it holds whole run without a question.
    Auto,
}

/// What bounds a command will have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// None.
    #[default]
    None,
    /// The sandbox.
    Sandbox {
        /// Whether it may reach the network.
        network: bool,
    },
}

/// The layers without which a sandbox takes no question's place: with them a command changes the folder alone, sees
/// no secrets and reaches nobody.
const NEEDED: [Layer; 5] = [
    Layer::Files,
    Layer::Shields,
    Layer::Network,
    Layer::SystemCalls,
    Layer::Rights,
];

/// Whether a sandbox is whole enough to take the place of a question.
///
/// # Errors
/// The layers it lacks, and why, in words for the person.
pub(crate) fn holds(enforcement: &Enforcement) -> Result<(), String> {
    let lacking: Vec<String> = NEEDED
        .iter()
        .filter(|layer| !enforcement.has(**layer))
        .map(|layer| {
            let told = enforcement
                .missing
                .iter()
                .find(|missing| missing.layer == *layer);
            let why = told.map_or("not in force", |missing| &missing.why);
            format!("{layer:?}: {why}")
        })
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(lacking.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_with_a_layer_missing_takes_no_questions_place() {
        let mut enforcement = Enforcement {
            enforced: NEEDED.to_vec(),
            missing: Vec::new(),
        };
        assert_eq!(holds(&enforcement), Ok(()));
        enforcement
            .enforced
            .retain(|layer| *layer != Layer::Network);
        enforcement.missing.push(commands::Missing {
            layer: Layer::Network,
            why: "no namespaces".into(),
        });
        assert_eq!(holds(&enforcement), Err("Network: no namespaces".into()));
        assert!(holds(&Enforcement::default()).is_err());
    }
}
