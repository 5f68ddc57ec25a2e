//! A folder to work in.

use std::fs;
use tempfile::TempDir;
use workspace::{
    EditRequest, ErrorKind, ReadLedger, ReadRequest, RenameRequest, Trash, Workspace,
    WorkspaceError, WriteRequest,
};

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) ledger: ReadLedger,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        let workspace = Workspace::open(&[folder.path().join("w")])
            .unwrap()
            .with_trash(Trash::at(folder.path().join("trash")));
        Self {
            folder,
            workspace,
            ledger: ReadLedger::default(),
        }
    }

    pub(crate) fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("w").join(path)
    }

    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let at = self.at(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, bytes).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.at(path)).unwrap()
    }

    pub(crate) fn read(&self, path: &str) -> Result<workspace::ReadFile, WorkspaceError> {
        let path = path.to_owned();
        self.workspace.read_file(
            &ReadRequest {
                path,
                ..Default::default()
            },
            &self.ledger,
        )
    }

    pub(crate) fn edit(
        &self,
        path: &str,
        old: &str,
        new: &str,
    ) -> Result<workspace::Written, WorkspaceError> {
        let request = EditRequest {
            path: path.into(),
            old_string: old.into(),
            new_string: new.into(),
            replace_all: false,
        };
        self.workspace.edit_file(&request, &self.ledger)
    }

    pub(crate) fn write(
        &self,
        path: &str,
        content: &str,
    ) -> Result<workspace::Written, WorkspaceError> {
        let (path, content) = (path.into(), content.into());
        self.workspace
            .write_file(&WriteRequest { path, content }, &self.ledger)
    }

    pub(crate) fn rename(
        &self,
        from: &str,
        to: &str,
    ) -> Result<workspace::Renamed, WorkspaceError> {
        let (old_path, new_path) = (from.into(), to.into());
        self.workspace
            .rename_file(&RenameRequest { old_path, new_path }, &self.ledger)
    }

    pub(crate) fn delete(&self, path: &str) -> Result<workspace::Deleted, WorkspaceError> {
        self.workspace.delete_file(path, &self.ledger)
    }
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, WorkspaceError>) -> ErrorKind {
    result.unwrap_err().kind()
}
