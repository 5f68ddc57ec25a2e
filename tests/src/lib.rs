//! Whole-program tests: a real window, real servers, a scripted model, kill -9.
