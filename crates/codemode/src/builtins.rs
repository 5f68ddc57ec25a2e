//! The built-in objects and functions.

mod array;
mod array_buffer;
mod array_change;
mod array_copy;
mod array_from;
mod array_sort;
mod array_species;
mod array_visit;
mod bigint;
mod bytes;
mod collections;
mod console;
mod crypto;
mod date;
mod error;
mod extension;
mod function;
mod global;
mod headers;
mod iterator;
pub(crate) mod json;
mod json_reader;
mod math;
mod number;
mod object;
mod promise;
mod promise_combinators;
mod reflect;
mod regexp;
mod regexp_methods;
mod set_algebra;
mod string;
mod substitution;
mod symbol;
mod tools;
mod typed_array;
mod url;
mod weak;

pub(crate) use console::{plain_text, render};
pub(crate) use error::describe as describe_error;

use crate::realm::Builder;

/// Describes everything a program finds.
pub(crate) fn install(b: &mut Builder) {
    object::install(b);
    reflect::install(b);
    function::install(b);
    array::install(b);
    string::install(b);
    number::install(b);
    bigint::install(b);
    symbol::install(b);
    math::install(b);
    json::install(b);
    error::install(b);
    iterator::install(b);
    collections::install(b);
    weak::install(b);
    promise::install(b);
    date::install(b);
    regexp::install(b);
    console::install(b);
    global::install(b);
    url::install(b);
    headers::install(b);
    array_buffer::install(b);
    typed_array::install(b);
    bytes::install(b);
    crypto::install(b);
    tools::install(b);
    extension::install(b);
}
