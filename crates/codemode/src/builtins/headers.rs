//! `Headers` (WHATWG Fetch).

use super::url::{pairs_from, text_arg};
use crate::atoms::SYM_ITERATOR;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::text::Text;
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Vm};

type List = Vec<(String, String)>;

pub(super) fn install(b: &mut Builder) {
    let proto = i::HEADERS_PROTO;
    b.constructor(i::HEADERS, proto, "Headers", 0, |vm, a| {
        if !a.is_construct() {
            return Err(vm.type_error("Headers constructor requires 'new'."));
        }
        let source = a.get(vm, 0);
        let pairs = match source {
            Value::Undefined => Vec::new(),
            Value::Obj(id) if let Kind::Headers(list) = vm.heap.kind(id) => list.clone(),
            other => pairs_from(vm, other)?,
        };
        let mut list = Vec::new();
        for (name, value) in pairs {
            list.push(checked(vm, &name, &value)?);
        }
        Ok(Value::Obj(
            vm.heap.alloc(Some(i::HEADERS_PROTO), Kind::Headers(list)),
        ))
    });
    b.methods(
        proto,
        &[
            ("append", 2, |vm, a| {
                let (name, value) = (text_arg(vm, a, 0)?, text_arg(vm, a, 1)?);
                let pair = checked(vm, &name, &value)?;
                vm.reserve(name.len() + value.len())?;
                list_mut(vm, a)?.push(pair);
                Ok(Value::Undefined)
            }),
            ("set", 2, |vm, a| {
                let (name, value) = (text_arg(vm, a, 0)?, text_arg(vm, a, 1)?);
                let pair = checked(vm, &name, &value)?;
                let list = list_mut(vm, a)?;
                let at = list.iter().position(|(n, _)| *n == pair.0);
                list.retain(|(n, _)| *n != pair.0);
                let at = at.unwrap_or(list.len()).min(list.len());
                list.insert(at, pair);
                Ok(Value::Undefined)
            }),
            ("delete", 1, |vm, a| {
                let name = text_arg(vm, a, 0)?.to_ascii_lowercase();
                list_mut(vm, a)?.retain(|(n, _)| *n != name);
                Ok(Value::Undefined)
            }),
            ("get", 1, |vm, a| {
                let name = text_arg(vm, a, 0)?.to_ascii_lowercase();
                let values: Vec<String> = list_mut(vm, a)?
                    .iter()
                    .filter(|(n, _)| *n == name)
                    .map(|(_, v)| v.clone())
                    .collect();
                if values.is_empty() {
                    Ok(Value::Null)
                } else {
                    vm.new_text(Text::new(&values.join(", ")))
                }
            }),
            ("has", 1, |vm, a| {
                let name = text_arg(vm, a, 0)?.to_ascii_lowercase();
                Ok(Value::Bool(
                    list_mut(vm, a)?.iter().any(|(n, _)| *n == name),
                ))
            }),
            ("getSetCookie", 0, |vm, a| {
                let values: List = list_mut(vm, a)?
                    .iter()
                    .filter(|(n, _)| n == "set-cookie")
                    .cloned()
                    .collect();
                let items = values.iter().map(|(_, v)| vm.str(v)).collect();
                Ok(vm.array(items))
            }),
            ("forEach", 1, |vm, a| {
                let (f, this) = (a.get(vm, 0), a.get(vm, 1));
                for (name, value) in combined(list_mut(vm, a)?) {
                    let (name, value) = (vm.str(&name), vm.str(&value));
                    vm.call(f, this, &[value, name, a.this])?;
                }
                Ok(Value::Undefined)
            }),
            ("keys", 0, |vm, a| listing(vm, a, |vm, n, _| vm.str(n))),
            ("values", 0, |vm, a| listing(vm, a, |vm, _, v| vm.str(v))),
        ],
    );
    let entries = b.method(proto, "entries", 0, |vm, a| {
        listing(vm, a, |vm, n, v| {
            let pair = vec![vm.str(n), vm.str(v)];
            vm.array(pair)
        })
    });
    b.alias(proto, SYM_ITERATOR, entries);
    b.tag(proto, "Headers");
}

/// A name in lower case and a value without outer white space, both fit for a header.
fn checked(vm: &mut Vm, name: &str, value: &str) -> Res<(String, String)> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(vm.type_error(&format!("Invalid header name: {name}")));
    }
    let value = value.trim_matches([' ', '\t', '\r', '\n']);
    if value.contains(['\0', '\r', '\n']) {
        return Err(vm.type_error(&format!("Invalid value of header {name}")));
    }
    Ok((name.to_ascii_lowercase(), value.to_owned()))
}

fn headers_id(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match args.this.as_obj() {
        Some(id) if matches!(vm.heap.kind(id), Kind::Headers(_)) => Ok(id),
        _ => Err(vm.type_error("Receiver is not a Headers object.")),
    }
}

fn list_mut(vm: &mut Vm, args: Args) -> Res<&mut List> {
    let id = headers_id(vm, args)?;
    match vm.heap.kind_mut(id) {
        Kind::Headers(list) => Ok(list),
        _ => Err(crate::value::Abrupt::Stop(crate::value::Stop::Cancelled)),
    }
}

/// Sorted by name, values of one name joined; cookies stay apart.
pub(crate) fn combined(list: &[(String, String)]) -> List {
    let mut names: Vec<&String> = list.iter().map(|(n, _)| n).collect();
    names.sort();
    names.dedup();
    let mut out = Vec::new();
    for name in names {
        let values: Vec<&str> = list
            .iter()
            .filter(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
            .collect();
        if name == "set-cookie" {
            out.extend(values.into_iter().map(|v| (name.clone(), v.to_owned())));
        } else {
            out.push((name.clone(), values.join(", ")));
        }
    }
    out
}

fn listing(vm: &mut Vm, args: Args, f: fn(&mut Vm, &str, &str) -> Value) -> Res<Value> {
    let list = combined(list_mut(vm, args)?);
    let items = list.iter().map(|(n, v)| f(vm, n, v)).collect();
    let array = vm.array(items);
    let method = vm.get(array, SYM_ITERATOR)?;
    vm.call(method, array, &[])
}
