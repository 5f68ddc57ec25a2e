//! Threads at rest: messages, their invariants, the thread store and the run journal.
