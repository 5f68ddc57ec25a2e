//! A scripted OpenAI-compatible model server: the demo table, tests and benches.
