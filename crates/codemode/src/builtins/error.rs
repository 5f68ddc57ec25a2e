//! Errors.

use crate::object::{ErrorData, Kind};
use crate::realm::{Builder, intrinsic as i, name};
use crate::shape::Attrs;
use crate::text::Text;
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, ErrorType, Vm};

macro_rules! kinds {
    ($b:expr, $($kind:ident $object:ident $proto:ident $name:literal),* $(,)?) => {
        $(
            if ErrorType::$kind != ErrorType::Error {
                $b.proto(i::$proto, i::ERROR_PROTO);
                $b.proto(i::$object, i::ERROR);
            }
            let length = if ErrorType::$kind == ErrorType::Aggregate { 2 } else { 1 };
            $b.constructor(i::$object, i::$proto, $name, length, |vm, a| construct(vm, a, ErrorType::$kind));
            // The name is the constructor's, kept as its number's name.
            text_property($b, i::$proto, "name", $name);
            text_property($b, i::$proto, "message", "");
        )*
    };
}

pub(super) fn install(b: &mut Builder) {
    kinds!(b,
        Error ERROR ERROR_PROTO "Error",
        Type TYPE_ERROR TYPE_ERROR_PROTO "TypeError",
        Range RANGE_ERROR RANGE_ERROR_PROTO "RangeError",
        Syntax SYNTAX_ERROR SYNTAX_ERROR_PROTO "SyntaxError",
        Reference REFERENCE_ERROR REFERENCE_ERROR_PROTO "ReferenceError",
        Eval EVAL_ERROR EVAL_ERROR_PROTO "EvalError",
        Uri URI_ERROR URI_ERROR_PROTO "URIError",
        Aggregate AGGREGATE_ERROR AGGREGATE_ERROR_PROTO "AggregateError",
    );
    b.methods(
        i::ERROR,
        &[("isError", 1, |vm, a| {
            Ok(Value::Bool(matches!(
                a.get(vm, 0).as_obj().map(|id| vm.heap.kind(id)),
                Some(Kind::Error(_))
            )))
        })],
    );
    b.methods(
        i::ERROR_PROTO,
        &[("toString", 0, |vm, a| {
            if !a.this.is_object() {
                return Err(
                    vm.type_error("Error.prototype.toString called on a value that is no object.")
                );
            }
            let text = describe(vm, a.this)?;
            vm.new_text(Text::new(&text))
        })],
    );
}

/// A data property whose value is a string of the template: a name key that the run turns into a string.
fn text_property(b: &mut Builder, object: ObjId, key: &str, text: &str) {
    b.text(object, key, text);
}

/// `name: message`, as `toString` of an error gives it.
pub(crate) fn describe(vm: &mut Vm, error: Value) -> Res<String> {
    let label = vm.get(error, name::NAME)?;
    let label = if label.is_undefined() {
        "Error".to_owned()
    } else {
        vm.to_text(label)?
    };
    let message = vm.get(error, name::MESSAGE)?;
    let message = if message.is_undefined() {
        String::new()
    } else {
        vm.to_text(message)?
    };
    Ok(match (label.is_empty(), message.is_empty()) {
        (true, _) => message,
        (_, true) => label,
        _ => format!("{label}: {message}"),
    })
}

fn construct(vm: &mut Vm, args: Args, which: ErrorType) -> Res<Value> {
    let first = usize::from(which == ErrorType::Aggregate);
    let (message, options) = (args.get(vm, first), args.get(vm, first + 1));
    let proto = vm.proto_of_new(args.new_target, which.prototype())?;
    let data = ErrorData {
        span: vm.here(),
        ..ErrorData::default()
    };
    let id = vm.heap.alloc(Some(proto), Kind::Error(Box::new(data)));
    if !message.is_undefined() {
        let text = vm.to_str(message)?;
        vm.heap
            .add_prop(id, name::MESSAGE, Attrs::HIDDEN, Value::Str(text));
    }
    if let Some(options) = vm.settle(options).as_obj()
        && !matches!(vm.heap.kind(options), Kind::Tool(_))
        && vm.has_property(options, name::CAUSE)?
    {
        let cause = vm.get(Value::Obj(options), name::CAUSE)?;
        vm.heap.add_prop(id, name::CAUSE, Attrs::HIDDEN, cause);
    }
    if which == ErrorType::Aggregate {
        let list = args.get(vm, 0);
        let errors = vm.collect_values(list)?;
        let errors = vm.array(errors);
        vm.heap.add_prop(id, name::ERRORS, Attrs::HIDDEN, errors);
    }
    Ok(Value::Obj(id))
}
