//! Code mode.
#![allow(dead_code)]
mod atoms;
mod compile;
mod diagnostic;
mod front;
mod heap;
mod number;
mod object;
mod op;
mod regex;
mod shape;
mod text;
mod value;
