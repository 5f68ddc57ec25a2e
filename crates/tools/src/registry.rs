//! All tools there are, by name.

use serde_json::Value;

use crate::nearest_name::nearest;
use crate::{Class, FaultKind, Tier, Tool, ToolFault};
use crate::{command_tools, file_tools, folder_tools, job_tools, search_tools};

/// The tools, in the order in which models are shown them.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: Vec<Tool>,
}

/// A tool was added whose name another has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two tools have the name {0}")]
pub struct NameTaken(pub String);

impl Registry {
    /// The tools of the program itself.
    pub fn built_in() -> Self {
        let tools = file_tools::tools()
            .into_iter()
            .chain(folder_tools::tools())
            .chain(search_tools::tools())
            .chain(command_tools::tools())
            .chain(job_tools::tools());
        Self {
            tools: tools.collect(),
        }
    }

    /// Adds a tool: one of a server of tools, say.
    ///
    /// # Errors
    /// Its name, or one of its aliases, is taken.
    pub fn add(&mut self, tool: Tool) -> Result<(), NameTaken> {
        let mut names = std::iter::once(&tool.name).chain(&tool.aliases);
        if let Some(taken) = names.find(|name| self.get(name).is_some()) {
            return Err(NameTaken(taken.to_string()));
        }
        self.tools.push(tool);
        Ok(())
    }

    /// The tool of this name or alias.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.is_called(name))
    }

    /// The tool of this name or alias.
    ///
    /// # Errors
    /// There is none; the nearest names are told.
    pub fn find(&self, name: &str) -> Result<&Tool, ToolFault> {
        if let Some(tool) = self.get(name.trim()) {
            return Ok(tool);
        }
        let all = self.tools.iter().flat_map(|tool| {
            let aliases = tool.aliases.iter().map(move |alias| (&**alias, tool));
            std::iter::once((&*tool.name, tool)).chain(aliases)
        });
        let all: Vec<(&str, &Tool)> = all.collect();
        let mut near: Vec<&str> = Vec::new();
        for name in nearest(name, all.iter().map(|(name, _)| *name)) {
            let meant = all.iter().find(|(known, _)| *known == name);
            near.extend(meant.map(|(_, tool)| &*tool.name));
        }
        near.dedup();
        let hint = if near.is_empty() {
            let names: Vec<&str> = self.tools.iter().map(|tool| &*tool.name).collect();
            format!("there are {}", names.join(", "))
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        let shown: String = name.chars().take(80).collect();
        let shown = shown.escape_debug();
        let message = format!("no tool has the name `{shown}`; {hint}");
        Err(ToolFault::new(FaultKind::UnknownTool, message))
    }

    /// All tools.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tools that a tier allows, as requests to models offer them. Commands are left out on demand.
    pub fn offers(&self, tier: Tier, commands: bool) -> Vec<Value> {
        self.allowed(tier, commands).map(Tool::offer).collect()
    }

    /// The tools that a tier allows.
    pub fn allowed(&self, tier: Tier, commands: bool) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(move |tool| {
            tier.allows(tool.class) && (commands || tool.class != Class::Command)
        })
    }

    /// Whether calls of a name change nothing, so that they may run beside each other. Unknown names do nothing.
    pub fn is_read_only(&self, name: &str) -> bool {
        self.get(name).is_none_or(|tool| tool.class.is_read_only())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_names_are_understood_and_unknown_ones_get_the_nearest() {
        let registry = Registry::built_in();
        for (alias, name) in [
            ("list_dir", "list_files"),
            ("find_files", "search_files"),
            ("search_text", "grep"),
            ("read_file", "read_file"),
            ("delete_file", "delete_file"),
        ] {
            assert_eq!(registry.find(alias).unwrap().name, name);
        }
        let fault = registry.find("serch_text").unwrap_err();
        assert_eq!(fault.kind, FaultKind::UnknownTool);
        assert!(fault.message.contains("did you mean grep"), "{fault}");
        let fault = registry.find("teleport\n").unwrap_err();
        assert!(
            fault
                .message
                .contains("`teleport\\n`; there are read_file, "),
            "{fault}"
        );
    }

    #[test]
    fn a_tier_is_offered_what_it_allows_and_no_more() {
        let registry = Registry::built_in();
        let names = |tier, commands| -> Vec<String> {
            let offers = registry.offers(tier, commands);
            let name = |offer: &Value| offer["function"]["name"].as_str().map(str::to_owned);
            offers.iter().filter_map(name).collect()
        };
        let read = names(Tier::Read, true);
        assert!(read.contains(&"grep".to_owned()));
        assert!(!read.contains(&"write_file".to_owned()));
        assert!(names(Tier::Full, true).contains(&"run_command".to_owned()));
        assert!(!names(Tier::Full, false).contains(&"run_command".to_owned()));
    }

    #[test]
    fn no_name_is_taken_twice() {
        let mut registry = Registry::built_in();
        let mut tool = registry.get("grep").unwrap().clone();
        assert_eq!(registry.add(tool.clone()), Err(NameTaken("grep".into())));
        tool.name = "other".into();
        assert_eq!(
            registry.add(tool.clone()),
            Err(NameTaken("search_text".into()))
        );
        tool.aliases.clear();
        assert_eq!(registry.add(tool), Ok(()));
    }
}
