//! The background runtime: owns all product state, takes intents, publishes events.
