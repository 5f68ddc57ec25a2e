//! `URL` and `URLSearchParams` (WHATWG URL).

use crate::atoms::SYM_ITERATOR;
use crate::object::{Kind, ParamsData, UrlData};
use crate::realm::{Builder, intrinsic as i};
use crate::text::Text;
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Vm};
use url::Url;

pub(super) fn install(b: &mut Builder) {
    let proto = i::URL_PROTO;
    b.constructor(i::URL, proto, "URL", 1, |vm, a| {
        if !a.is_construct() {
            return Err(vm.type_error("URL constructor requires 'new'."));
        }
        match parse(vm, a)? {
            Some(url) => make(vm, url),
            None => Err(vm.type_error("Invalid URL")),
        }
    });
    b.methods(
        i::URL,
        &[
            ("canParse", 1, |vm, a| {
                Ok(Value::Bool(parse(vm, a)?.is_some()))
            }),
            ("parse", 1, |vm, a| match parse(vm, a)? {
                Some(url) => make(vm, url),
                None => Ok(Value::Null),
            }),
        ],
    );
    macro_rules! parts {
        ($($name:literal => $get:expr, $set:expr);* $(;)?) => {
            $(b.getter(
                proto,
                $name,
                |vm, a| {
                    let get: fn(&Url) -> String = $get;
                    let text = get(&url_of(vm, a)?.url);
                    vm.new_text(Text::new(&text))
                },
                Some(|vm, a| {
                    let value = a.get(vm, 0);
                    let value = vm.to_text(value)?;
                    let set: fn(&mut Url, &str) = $set;
                    set(&mut url_of(vm, a)?.url, &value);
                    refresh_params(vm, a)?;
                    Ok(Value::Undefined)
                }),
            );)*
        };
    }
    parts! {
        "protocol" => |u| url::quirks::protocol(u).to_owned(), |u, v| { let _ = url::quirks::set_protocol(u, v); };
        "username" => |u| url::quirks::username(u).to_owned(), |u, v| { let _ = url::quirks::set_username(u, v); };
        "password" => |u| url::quirks::password(u).to_owned(), |u, v| { let _ = url::quirks::set_password(u, v); };
        "host" => |u| url::quirks::host(u).to_owned(), |u, v| { let _ = url::quirks::set_host(u, v); };
        "hostname" => |u| url::quirks::hostname(u).to_owned(), |u, v| { let _ = url::quirks::set_hostname(u, v); };
        "port" => |u| url::quirks::port(u).to_owned(), |u, v| { let _ = url::quirks::set_port(u, v); };
        "pathname" => |u| url::quirks::pathname(u).to_owned(), url::quirks::set_pathname;
        "search" => |u| url::quirks::search(u).to_owned(), url::quirks::set_search;
        "hash" => |u| url::quirks::hash(u).to_owned(), url::quirks::set_hash;
    }
    b.getter(
        proto,
        "href",
        |vm, a| {
            let text = url_of(vm, a)?.url.as_str().to_owned();
            vm.new_text(Text::new(&text))
        },
        Some(|vm, a| {
            let value = a.get(vm, 0);
            let value = vm.to_text(value)?;
            let Ok(url) = Url::parse(&value) else {
                return Err(vm.type_error("Invalid URL"));
            };
            url_of(vm, a)?.url = url;
            refresh_params(vm, a)?;
            Ok(Value::Undefined)
        }),
    );
    b.getter(
        proto,
        "origin",
        |vm, a| {
            let text = url::quirks::origin(&url_of(vm, a)?.url);
            vm.new_text(Text::new(&text))
        },
        None,
    );
    b.getter(proto, "searchParams", search_params, None);
    let text: crate::realm::NativeFn = |vm, a| {
        let text = url_of(vm, a)?.url.as_str().to_owned();
        vm.new_text(Text::new(&text))
    };
    b.methods(proto, &[("toString", 0, text), ("toJSON", 0, text)]);
    b.tag(proto, "URL");
    params(b);
}

fn params(b: &mut Builder) {
    let proto = i::PARAMS_PROTO;
    b.constructor(i::PARAMS, proto, "URLSearchParams", 0, construct_params);
    b.methods(
        proto,
        &[
            ("append", 2, |vm, a| {
                let (name, value) = (text_arg(vm, a, 0)?, text_arg(vm, a, 1)?);
                change(vm, a, |list| list.push((name, value)))
            }),
            ("delete", 1, |vm, a| {
                let name = text_arg(vm, a, 0)?;
                let value = optional_text(vm, a, 1)?;
                change(vm, a, |list| {
                    list.retain(|(n, v)| *n != name || value.as_ref().is_some_and(|w| w != v));
                })
            }),
            ("get", 1, |vm, a| {
                let name = text_arg(vm, a, 0)?;
                let found = list_of(vm, a)?
                    .iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, v)| v.clone());
                match found {
                    Some(value) => vm.new_text(Text::new(&value)),
                    None => Ok(Value::Null),
                }
            }),
            ("getAll", 1, |vm, a| {
                let name = text_arg(vm, a, 0)?;
                let found: Vec<String> = list_of(vm, a)?
                    .iter()
                    .filter(|(n, _)| *n == name)
                    .map(|(_, v)| v.clone())
                    .collect();
                let items = found.iter().map(|v| vm.str(v)).collect();
                Ok(vm.array(items))
            }),
            ("has", 1, |vm, a| {
                let name = text_arg(vm, a, 0)?;
                let value = optional_text(vm, a, 1)?;
                let list = list_of(vm, a)?;
                Ok(Value::Bool(list.iter().any(|(n, v)| {
                    *n == name && value.as_ref().is_none_or(|w| w == v)
                })))
            }),
            ("set", 2, |vm, a| {
                let (name, value) = (text_arg(vm, a, 0)?, text_arg(vm, a, 1)?);
                change(vm, a, |list| {
                    match list.iter().position(|(n, _)| *n == name) {
                        Some(at) => {
                            list[at].1 = value;
                            let mut index = 0;
                            list.retain(|(n, _)| {
                                index += 1;
                                *n != name || index - 1 == at
                            });
                        }
                        None => list.push((name, value)),
                    }
                })
            }),
            ("sort", 0, |vm, a| {
                change(vm, a, |list| {
                    list.sort_by(|(x, _), (y, _)| x.encode_utf16().cmp(y.encode_utf16()));
                })
            }),
            ("forEach", 1, |vm, a| {
                let (f, this) = (a.get(vm, 0), a.get(vm, 1));
                for (name, value) in list_of(vm, a)?.clone() {
                    let (name, value) = (vm.str(&name), vm.str(&value));
                    vm.call(f, this, &[value, name, a.this])?;
                }
                Ok(Value::Undefined)
            }),
            ("keys", 0, |vm, a| listing(vm, a, |vm, (n, _)| vm.str(n))),
            ("values", 0, |vm, a| listing(vm, a, |vm, (_, v)| vm.str(v))),
            ("toString", 0, |vm, a| {
                let text = serialize(list_of(vm, a)?);
                vm.new_text(Text::new(&text))
            }),
        ],
    );
    let entries = b.method(proto, "entries", 0, |vm, a| {
        listing(vm, a, |vm, (n, v)| {
            let pair = vec![vm.str(n), vm.str(v)];
            vm.array(pair)
        })
    });
    b.alias(proto, SYM_ITERATOR, entries);
    b.getter(
        proto,
        "size",
        |vm, a| Ok(Value::Num(list_of(vm, a)?.len() as f64)),
        None,
    );
    b.tag(proto, "URLSearchParams");
}

pub(super) fn text_arg(vm: &mut Vm, args: Args, index: usize) -> Res<String> {
    if index >= args.len() {
        return Err(vm.type_error("Not enough arguments."));
    }
    let value = args.get(vm, index);
    vm.to_text(value)
}

fn optional_text(vm: &mut Vm, args: Args, index: usize) -> Res<Option<String>> {
    let value = args.get(vm, index);
    if value.is_undefined() {
        Ok(None)
    } else {
        vm.to_text(value).map(Some)
    }
}

fn parse(vm: &mut Vm, args: Args) -> Res<Option<Url>> {
    let text = args.get(vm, 0);
    let text = vm.to_text(text)?;
    vm.charge(text.len() / 8)?;
    match optional_text(vm, args, 1)? {
        Some(base) => Ok(Url::parse(&base)
            .ok()
            .and_then(|base| base.join(&text).ok())),
        None => Ok(Url::parse(&text).ok()),
    }
}

pub(super) fn make(vm: &mut Vm, url: Url) -> Res<Value> {
    vm.reserve(url.as_str().len() + 128)?;
    let kind = Kind::Url(Box::new(UrlData { url, params: None }));
    Ok(Value::Obj(vm.heap.alloc(Some(i::URL_PROTO), kind)))
}

fn url_of(vm: &mut Vm, args: Args) -> Res<&mut UrlData> {
    let id = match args.this.as_obj() {
        Some(id) if matches!(vm.heap.kind(id), Kind::Url(_)) => id,
        _ => return Err(vm.type_error("Receiver is not a URL.")),
    };
    match vm.heap.kind_mut(id) {
        Kind::Url(data) => Ok(data),
        _ => Err(crate::value::Abrupt::Stop(crate::value::Stop::Cancelled)),
    }
}

fn refresh_params(vm: &mut Vm, args: Args) -> Res<()> {
    let data = url_of(vm, args)?;
    let list = query_list(&data.url);
    if let Some(params) = data.params
        && let Kind::Params(data) = vm.heap.kind_mut(params)
    {
        data.list = list;
    }
    Ok(())
}

fn query_list(url: &Url) -> Vec<(String, String)> {
    url.query_pairs()
        .map(|(n, v)| (n.into_owned(), v.into_owned()))
        .collect()
}

fn search_params(vm: &mut Vm, args: Args) -> Res<Value> {
    let data = url_of(vm, args)?;
    if let Some(params) = data.params {
        return Ok(Value::Obj(params));
    }
    let list = query_list(&data.url);
    let kind = Kind::Params(Box::new(ParamsData {
        list,
        owner: args.this.as_obj(),
    }));
    let id = vm.heap.alloc(Some(i::PARAMS_PROTO), kind);
    url_of(vm, args)?.params = Some(id);
    Ok(Value::Obj(id))
}

/// The `application/x-www-form-urlencoded` form.
pub(super) fn serialize(list: &[(String, String)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(list)
        .finish()
}

fn params_id(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match args.this.as_obj() {
        Some(id) if matches!(vm.heap.kind(id), Kind::Params(_)) => Ok(id),
        _ => Err(vm.type_error("Receiver is not a URLSearchParams.")),
    }
}

fn list_of(vm: &mut Vm, args: Args) -> Res<&Vec<(String, String)>> {
    let id = params_id(vm, args)?;
    match vm.heap.kind(id) {
        Kind::Params(data) => Ok(&data.list),
        _ => Err(crate::value::Abrupt::Stop(crate::value::Stop::Cancelled)),
    }
}

/// Changes the list and writes it back to the URL that it belongs to.
fn change(vm: &mut Vm, args: Args, f: impl FnOnce(&mut Vec<(String, String)>)) -> Res<Value> {
    let id = params_id(vm, args)?;
    let Kind::Params(data) = vm.heap.kind_mut(id) else {
        return Ok(Value::Undefined);
    };
    f(&mut data.list);
    let (text, owner) = (serialize(&data.list), data.owner);
    vm.charge(text.len() / 8)?;
    vm.reserve(text.len())?;
    if let Some(owner) = owner
        && let Kind::Url(url) = vm.heap.kind_mut(owner)
    {
        url.url.set_query((!text.is_empty()).then_some(&text));
    }
    Ok(Value::Undefined)
}

fn listing(vm: &mut Vm, args: Args, f: fn(&mut Vm, &(String, String)) -> Value) -> Res<Value> {
    let list = list_of(vm, args)?.clone();
    let items = list.iter().map(|pair| f(vm, pair)).collect();
    let array = vm.array(items);
    let method = vm.get(array, SYM_ITERATOR)?;
    vm.call(method, array, &[])
}

/// Name and value pairs from an iterable of pairs or from an object.
pub(super) fn pairs_from(vm: &mut Vm, source: Value) -> Res<Vec<(String, String)>> {
    let mut list = Vec::new();
    let iterable = !vm.get(source, SYM_ITERATOR)?.is_nullish();
    if iterable {
        vm.iterate(source, |vm, pair| {
            let parts = vm.collect_values(pair)?;
            let [name, value] = parts[..] else {
                return Err(vm.type_error("Each entry must be a pair of name and value."));
            };
            list.push((vm.to_text(name)?, vm.to_text(value)?));
            Ok(true)
        })?;
        return Ok(list);
    }
    let Some(id) = source.as_obj() else {
        return Ok(list);
    };
    for key in vm.enumerable_keys(id) {
        let value = vm.get(source, key)?;
        list.push((vm.key_text(key), vm.to_text(value)?));
    }
    Ok(list)
}

fn construct_params(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("URLSearchParams constructor requires 'new'."));
    }
    let source = args.get(vm, 0);
    let list = match source {
        Value::Undefined => Vec::new(),
        Value::Obj(id) if let Kind::Params(data) = vm.heap.kind(id) => data.list.clone(),
        Value::Obj(_) => pairs_from(vm, source)?,
        other => {
            let text = vm.to_text(other)?;
            let text = text.strip_prefix('?').unwrap_or(&text);
            url::form_urlencoded::parse(text.as_bytes())
                .map(|(n, v)| (n.into_owned(), v.into_owned()))
                .collect()
        }
    };
    let kind = Kind::Params(Box::new(ParamsData { list, owner: None }));
    Ok(Value::Obj(vm.heap.alloc(Some(i::PARAMS_PROTO), kind)))
}
