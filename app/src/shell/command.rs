//! Every action of the window: its name in keymap files, its title in the palette, its default keys.

/// An action that a key, the palette or a button can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Command {
    /// Open the command palette.
    OpenPalette,
    /// Choose a thread by name.
    SwitchThread,
    /// Begin an empty thread.
    NewThread,
    /// Send what the composer holds.
    Send,
    /// End the running turn.
    Stop,
    /// Run the last failed or stopped reply again.
    RetryLast,
    /// Edit the last message of the person in a fork.
    EditLast,
    /// Show what the model saw for the last reply.
    InspectLast,
    /// Show the reasoning behind the last reply.
    ShowLastReasoning,
    /// Copy the last reply.
    CopyLastReply,
    /// Copy the whole thread as Markdown.
    CopyThread,
    /// Fork the thread at its end.
    ForkThread,
    /// Rename the thread.
    RenameThread,
    /// Put the thread aside, or bring it back.
    ArchiveThread,
    /// Move the thread to the bin.
    DeleteThread,
    /// Search within the thread.
    FindInThread,
    /// The next hit of the search.
    FindNext,
    /// The previous hit of the search.
    FindPrevious,
    /// List the person's messages and jump to one.
    OpenOutline,
    /// List the links of the latest messages and open one.
    OpenLink,
    /// Scroll to the end and follow it.
    JumpToLatest,
    /// Put the caret into the composer.
    FocusComposer,
    /// Put the focus onto the messages.
    FocusThread,
    /// Move the focus to the next part of the window.
    FocusNextPanel,
    /// Move the focus to the previous part of the window.
    FocusPreviousPanel,
    /// Attach a file to the message.
    AttachFile,
    /// Attach what is selected in the thread.
    AttachSelection,
    /// Change between Chat and Bonfire.
    ToggleBonfire,
    /// Choose who answers messages without a mention.
    ChooseTarget,
    /// Work on another folder.
    OpenFolder,
    /// Show or hide the side panel.
    ToggleSidePanel,
    /// Show the threads in the side panel.
    ShowThreads,
    /// Show the code graph of the open folder.
    ShowGraph,
    /// Open the settings.
    OpenSettings,
    /// Open the settings file in the system's editor.
    OpenSettingsFile,
    /// Show the list of notices.
    ShowNotices,
    /// Ask all endpoints how they are.
    CheckEndpoints,
    /// Show or hide the performance panel.
    TogglePerformance,
    /// Use the light theme.
    ThemeLight,
    /// Use the dark theme.
    ThemeDark,
    /// Use the theme of the system.
    ThemeSystem,
    /// Use high contrast in the theme's brightness.
    ThemeHighContrast,
    /// Make everything larger.
    ZoomIn,
    /// Make everything smaller.
    ZoomOut,
    /// Back to 100 %.
    ZoomReset,
    /// Close the focused tab.
    CloseTab,
    /// End the program.
    Quit,
}

/// What a command is called and how it is reached.
pub struct CommandInfo {
    /// The command.
    pub command: Command,
    /// Its name in a keymap file.
    pub id: &'static str,
    /// Its title in the palette, in sentence case.
    pub title: &'static str,
    /// Its keys on Linux and Windows; `Ctrl` becomes Command on macOS.
    pub default_keys: &'static [&'static str],
}

macro_rules! commands {
    ($($command:ident $id:literal $title:literal [$($key:literal),*];)*) => {
        /// All commands in the order of the palette.
        pub const COMMANDS: &[CommandInfo] = &[$(CommandInfo {
            command: Command::$command,
            id: $id,
            title: $title,
            default_keys: &[$($key),*],
        }),*];
    };
}

commands! {
    OpenPalette "palette.open" "Command palette" ["Ctrl+Shift+P", "F1"];
    SwitchThread "thread.switch" "Switch thread…" ["Ctrl+P"];
    NewThread "thread.new" "New thread" ["Ctrl+N"];
    Send "composer.send" "Send message" [];
    Stop "turn.stop" "Stop the running turn" [];
    RetryLast "turn.retry" "Retry the last failed or stopped reply" ["Ctrl+Shift+R"];
    EditLast "message.edit_last" "Edit my last message in a fork" [];
    InspectLast "message.inspect_last" "What the model saw for the last reply" ["Ctrl+Shift+I"];
    ShowLastReasoning "message.reasoning_last" "Show the reasoning behind the last reply" [];
    CopyLastReply "message.copy_last" "Copy the last reply" ["Ctrl+Shift+C"];
    CopyThread "thread.copy" "Copy the thread as Markdown" [];
    ForkThread "thread.fork" "Fork the thread here" [];
    RenameThread "thread.rename" "Rename the thread…" ["F2"];
    ArchiveThread "thread.archive" "Archive the thread, or bring it back" [];
    DeleteThread "thread.delete" "Delete the thread" [];
    FindInThread "find.open" "Find in thread" ["Ctrl+F"];
    FindNext "find.next" "Next hit" ["F3"];
    FindPrevious "find.previous" "Previous hit" ["Shift+F3"];
    OpenOutline "thread.outline" "Jump to one of my messages…" ["Ctrl+Shift+O"];
    OpenLink "thread.link" "Open a link of the latest messages…" ["Ctrl+Shift+K"];
    JumpToLatest "thread.latest" "Jump to the latest message" ["Ctrl+End"];
    FocusComposer "focus.composer" "Write a message" ["Ctrl+L"];
    FocusThread "focus.thread" "Go to the messages" ["Ctrl+Shift+L"];
    FocusNextPanel "focus.next" "Go to the next part of the window" ["F6"];
    FocusPreviousPanel "focus.previous" "Go to the previous part of the window" ["Shift+F6"];
    AttachFile "composer.attach" "Attach a file…" ["Ctrl+Shift+A"];
    AttachSelection "composer.attach_selection" "Attach the selected text" ["Ctrl+Shift+Q"];
    ToggleBonfire "composer.bonfire" "Change between Chat and Bonfire" ["Ctrl+Shift+B"];
    ChooseTarget "composer.target" "Choose who answers…" ["Ctrl+Shift+S"];
    OpenFolder "folder.open" "Open folder…" ["Ctrl+O"];
    ToggleSidePanel "panel.toggle" "Show or hide the side panel" ["Ctrl+B"];
    ShowThreads "panel.threads" "Show the threads" ["Ctrl+Shift+E"];
    ShowGraph "graph.show" "Code graph" ["Ctrl+Shift+G"];
    OpenSettings "settings.open" "Settings" ["Ctrl+,"];
    OpenSettingsFile "settings.file" "Open the settings file" [];
    ShowNotices "notices.open" "Show notices" [];
    CheckEndpoints "endpoints.check" "Check all endpoints" [];
    TogglePerformance "performance.toggle" "Show or hide the performance panel" ["Ctrl+Shift+F12"];
    ThemeLight "theme.light" "Theme: light" [];
    ThemeDark "theme.dark" "Theme: dark" [];
    ThemeSystem "theme.system" "Theme: as the system" [];
    ThemeHighContrast "theme.high_contrast" "Theme: high contrast" [];
    ZoomIn "zoom.in" "Zoom in" ["Ctrl+=", "Ctrl++"];
    ZoomOut "zoom.out" "Zoom out" ["Ctrl+-"];
    ZoomReset "zoom.reset" "Zoom to 100 %" ["Ctrl+0"];
    CloseTab "tab.close" "Close the tab" ["Ctrl+W"];
    Quit "app.quit" "Quit" ["Ctrl+Q"];
}

impl Command {
    /// What it is called and how it is reached.
    pub fn info(self) -> &'static CommandInfo {
        COMMANDS
            .iter()
            .find(|info| info.command == self)
            .unwrap_or_else(|| unreachable!("every command is listed, as a test holds"))
    }

    /// The command with this name in a keymap file.
    pub fn from_id(id: &str) -> Option<Self> {
        COMMANDS
            .iter()
            .find(|info| info.id == id)
            .map(|info| info.command)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn commands_are_listed_once_each() {
        let ids: HashSet<_> = COMMANDS.iter().map(|c| c.id).collect();
        let commands: HashSet<_> = COMMANDS.iter().map(|c| c.command).collect();
        assert_eq!(
            (ids.len(), commands.len()),
            (COMMANDS.len(), COMMANDS.len())
        );
        assert_eq!(commands.len(), Command::Quit as usize + 1);
    }
}
