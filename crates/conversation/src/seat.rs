//! A seat at the table.

use transcript::SeatId;

/// A named place at the table and the model that fills it. Two seats may be filled by one model; they stay
/// two seats, told apart by [`Seat::id`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// What a person types after `@` and what the transcript stores as the speaker; `[A-Za-z0-9_-]+`.
    pub id: SeatId,
    /// The name shown to people and to the other seats.
    pub display_name: String,
    /// Accent as `#RRGGBB`, where the person chose one.
    pub color: Option<String>,
    /// The endpoint's id: `sidecar`, `rehearsal`, or one the person configured.
    pub endpoint: String,
    /// The model as the endpoint names it.
    pub model: String,
    /// Reasoning effort to ask for, where the person chose one.
    pub effort: Option<String>,
    /// The person's own instructions for this seat; may be empty.
    pub system_prompt: String,
    /// Whether the seat answers at all.
    pub enabled: bool,
    /// Size of the model's context window in tokens, where known.
    pub context_window_tokens: Option<u64>,
    /// The endpoint refuses two neighbouring messages of one role, or a conversation that an assistant opens.
    pub merge_same_role: bool,
    /// The endpoint refuses more than one system message.
    pub single_system_message: bool,
}

impl Seat {
    /// An enabled seat with an id, a name, an endpoint and a model; the rest is left at its plainest.
    pub fn new(
        id: impl Into<SeatId>,
        display_name: impl Into<String>,
        endpoint: impl Into<String>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            display_name: display_name.into(),
            color: None,
            endpoint: endpoint.into(),
            model: model.into(),
            effort: None,
            system_prompt: String::new(),
            enabled: true,
            context_window_tokens: None,
            merge_same_role: false,
            single_system_message: false,
        }
    }
}
