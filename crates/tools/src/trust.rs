//! Which folders the person trusts. One that was never opened before is only read, and nothing it brings along has any
//! effect: no rules, no settings, no notes for models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What the person decided about folders, by their real path. A plain record: whoever keeps it writes it down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrustRecord(BTreeMap<PathBuf, Trust>);

/// A decision about a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// It may be changed, and what it brings along counts.
    Trusted,
    /// It is only read.
    Restricted,
}

impl TrustRecord {
    /// What was decided about a folder; none if it is new, and the person is to be asked. A decision about a folder
    /// counts for those below it, unless there is a nearer one. The path is the real one, without links.
    pub fn decision(&self, folder: &Path) -> Option<Trust> {
        folder
            .ancestors()
            .find_map(|path| self.0.get(path).copied())
    }

    /// Whether a workspace of these folders is trusted: all of them are.
    pub fn trusts(&self, folders: &[PathBuf]) -> bool {
        let trusted = |folder: &PathBuf| self.decision(folder) == Some(Trust::Trusted);
        !folders.is_empty() && folders.iter().all(trusted)
    }

    /// Records a decision. Roots of file systems and homes of users are never trusted whole; false then.
    pub fn decide(&mut self, folder: &Path, trust: Trust) -> bool {
        let is_too_much =
            folder.parent().is_none() || std::env::home_dir().as_deref() == Some(folder);
        if trust == Trust::Trusted && is_too_much || !folder.is_absolute() {
            return false;
        }
        self.0.insert(folder.to_owned(), trust);
        true
    }

    /// Forgets what was decided.
    pub fn forget(&mut self, folder: &Path) {
        self.0.remove(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_folder_is_not_trusted_and_the_nearest_decision_counts() {
        let mut record = TrustRecord::default();
        let path = Path::new;
        assert_eq!(record.decision(path("/code/a")), None);
        assert!(record.decide(path("/code"), Trust::Trusted));
        assert!(record.decide(path("/code/a/vendor"), Trust::Restricted));
        assert_eq!(record.decision(path("/code/a/src")), Some(Trust::Trusted));
        assert_eq!(
            record.decision(path("/code/a/vendor/x")),
            Some(Trust::Restricted)
        );
        assert_eq!(record.decision(path("/codex")), None);
        assert!(record.trusts(&["/code/a".into()]));
        assert!(!record.trusts(&["/code/a".into(), "/other".into()]));
        assert!(!record.trusts(&[]));
        record.forget(path("/code"));
        assert!(!record.trusts(&["/code/a".into()]));
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(json, r#"{"/code/a/vendor":"restricted"}"#);
        assert_eq!(serde_json::from_str::<TrustRecord>(&json).unwrap(), record);
    }

    #[test]
    fn nobody_trusts_a_whole_disk_by_a_slip() {
        let mut record = TrustRecord::default();
        assert!(!record.decide(Path::new("/"), Trust::Trusted));
        assert!(!record.decide(Path::new("relative"), Trust::Trusted));
        assert_eq!(record, TrustRecord::default());
    }
}
