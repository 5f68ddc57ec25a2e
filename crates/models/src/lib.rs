//! Model endpoints: the streaming client, its dialects, the model list and the key vault.
