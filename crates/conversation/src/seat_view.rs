//! The conversation as one seat sees it.

use transcript::{Message, Role, SeatId};

use crate::Seat;
use crate::context_block::render_context_block;
use crate::outline::Entry;
use crate::prompt::{PromptMessage, PromptRole};
use crate::size::Size;
use crate::speaker_names::{SYSTEM, SpeakerNames, USER};

/// Maps messages to the two-party form that endpoints know: the seat's own words are the assistant's,
/// everybody else's come in as labelled input.
pub(crate) struct SeatView<'a> {
    seat: &'a Seat,
    names: SpeakerNames,
    /// The first message of every prompt.
    pub(crate) system: String,
}

impl<'a> SeatView<'a> {
    /// The view of `seat` at `table`.
    pub(crate) fn new(seat: &'a Seat, table: &[Seat]) -> Self {
        let names = SpeakerNames::of(table);
        Self {
            system: system_text(seat, table, &names),
            seat,
            names,
        }
    }

    /// The role under which a message of this speaker appears.
    pub(crate) fn role_of(&self, role: Role, speaker: &SeatId) -> PromptRole {
        match role {
            Role::System if !self.seat.single_system_message => PromptRole::System,
            Role::Assistant if *speaker == self.seat.id => PromptRole::Assistant,
            Role::User | Role::Assistant | Role::System => PromptRole::User,
        }
    }

    /// What stands before a message of this speaker; nothing where its role says who speaks.
    pub(crate) fn label_of(&self, role: Role, speaker: &SeatId) -> String {
        match (role, self.role_of(role, speaker)) {
            (Role::User, _) => format!("[{USER}]"),
            (Role::System, PromptRole::User) => format!("[{SYSTEM}] "),
            (Role::Assistant, PromptRole::User) => format!("[{}]: ", self.names.of_seat(speaker)),
            (Role::System | Role::Assistant, _) => String::new(),
        }
    }

    /// A message as the seat is shown it.
    pub(crate) fn render(&self, message: &Message) -> PromptMessage {
        let mut content = self.label_of(message.role(), message.speaker());
        for_each_piece(message, |piece| content.push_str(piece));
        PromptMessage {
            role: self.role_of(message.role(), message.speaker()),
            content,
        }
    }

    /// The same in outline.
    pub(crate) fn entry(&self, message: &Message) -> Entry {
        let label = self.label_of(message.role(), message.speaker());
        Entry {
            role: self.role_of(message.role(), message.speaker()),
            size: Size::of(&label) + body_size(message),
        }
    }

    /// The line that stands for the messages left out.
    pub(crate) fn omission_marker(&self) -> PromptMessage {
        let role = if self.seat.single_system_message || self.seat.merge_same_role {
            PromptRole::User
        } else {
            PromptRole::System
        };
        note(role, "Earlier messages omitted for length.")
    }

    /// What opens the conversation for an endpoint that lets no assistant begin it.
    pub(crate) fn opener(&self) -> PromptMessage {
        note(PromptRole::User, "The conversation begins here.")
    }

    /// What asks for a reply where nobody else spoke last; endpoints take an assistant's last word as the
    /// beginning of the reply, or refuse it.
    pub(crate) fn cue(&self) -> PromptMessage {
        let name = self.names.of_seat(&self.seat.id);
        note(PromptRole::User, &format!("It is your turn, {name}."))
    }

    /// Whether neighbours of one role become one message, and a user's message comes first.
    pub(crate) fn merges(&self) -> bool {
        self.seat.merge_same_role
    }
}

/// Size of a message's text without its label: the same in every seat's view.
pub(crate) fn body_size(message: &Message) -> Size {
    let mut size = Size::default();
    for_each_piece(message, |piece| size += Size::of(piece));
    size
}

fn for_each_piece(message: &Message, mut piece: impl FnMut(&str)) {
    if message.role() != Role::User {
        piece(message.content());
        return;
    }
    if !message.content().is_empty() {
        piece(" ");
        piece(message.content());
    }
    for block in message.context_blocks() {
        piece("\n\n");
        piece(&render_context_block(block));
    }
}

fn note(role: PromptRole, text: &str) -> PromptMessage {
    PromptMessage {
        role,
        content: format!("[{SYSTEM}] {text}"),
    }
}

fn system_text(seat: &Seat, table: &[Seat], names: &SpeakerNames) -> String {
    let me = names.of_seat(&seat.id);
    let others: Vec<_> = table
        .iter()
        .filter(|other| other.enabled && other.id != seat.id)
        .map(|other| names.of_seat(&other.id))
        .collect();
    let company = if others.is_empty() {
        "No other assistant is seated at the moment.".to_owned()
    } else {
        format!("The other participants: {}.", others.join(", "))
    };
    let mut text = format!(
        "You are {me}, one of the AI assistants in a group conversation that they share with a human user. \
         {company} Each message but your own starts with a label that says who speaks: [{USER}] is the human, \
         [Name]: is the assistant of that name, [{SYSTEM}] is a note to the whole group. Speak for yourself \
         only: never write a message in another participant's name, and don't start your reply with your own \
         name or label."
    );
    let own = seat.system_prompt.trim();
    if !own.is_empty() {
        text.push_str("\n\n");
        text.push_str(own);
    }
    text
}
