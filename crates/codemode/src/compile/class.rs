//! Classes. Instance fields become one function that runs on each new object; static fields and blocks become one
//! function that runs once on the class. Private names are symbols nobody else can hold.

use super::assign::static_name;
use super::function::{Body, Parts};
use super::{Compiler, FnState, Var};
use crate::compiled::FuncKind;
use crate::op::{Op, Reg};
use crate::text::Text;
use crate::value::Key;
use oxc_ast::ast::{self, ClassElement, MethodDefinitionKind, PropertyKey};
use oxc_syntax::scope::ScopeId;
use oxc_syntax::symbol::SymbolId;

/// A field of an instance or of the class: where its key is kept and what it starts with.
enum Member<'a> {
    Field {
        key: FieldKey,
        value: Option<&'a ast::Expression<'a>>,
        span: oxc_span::Span,
    },
    PrivateMethod {
        name: String,
        kind: MethodDefinitionKind,
        held: u32,
    },
    Block(&'a ast::StaticBlock<'a>),
}

enum FieldKey {
    Known(Text),
    Computed(u32),
    Private(String),
}

impl<'a> Compiler<'a> {
    pub(super) fn class_declaration(&mut self, class: &'a ast::Class<'a>) {
        if class.declare {
            return;
        }
        let mark = self.mark();
        let dst = self.temp();
        self.class(class, dst, None);
        if let Some(id) = &class.id {
            self.initialise(id, dst);
        }
        self.release(mark);
    }

    /// A register that holds the symbol of a private name.
    pub(super) fn private_name(&mut self, name: &str) -> Reg {
        let found = self
            .privates
            .iter()
            .rev()
            .find_map(|map| map.get(name).copied());
        let dst = self.temp();
        match found {
            Some(var) => self.read_var(Var::Private(var), dst),
            None => {
                self.emit(Op::LoadUndefined { dst });
            }
        }
        dst
    }

    /// A captured variable of the compiler's own.
    fn hidden_variable(&mut self) -> (u32, Reg) {
        let var = self.private_count;
        self.private_count += 1;
        let reg = self.temp();
        self.emit(Op::NewCell { dst: reg });
        self.f().locals.insert(Var::Private(var), reg);
        (var, reg)
    }

    pub(super) fn class(&mut self, class: &'a ast::Class<'a>, dst: Reg, name: Option<Key>) {
        let mark = self.mark();
        let block = self.temps(3);
        let scope = class.scope_id.get();
        self.enter_scope(scope, &[], false);
        let own = class.id.as_ref().and_then(|id| id.symbol_id.get());
        let inner = own.filter(|&s| Some(self.scoping.symbol_scope_id(s)) == scope);
        // Inside, the name means the class whatever happens to the binding outside.
        let named = own.filter(|&s| scope.is_some_and(|scope| self.is_named_within(s, scope)));
        let held = named.map(|symbol| {
            let (var, cell) = self.hidden_variable();
            self.own_classes.push((symbol, var));
            cell
        });
        self.declare_privates(class);
        match &class.heritage {
            Some(heritage) => self.expr_to(&heritage.expression, block + 2),
            None => {
                self.emit(Op::LoadHole { dst: block + 2 });
            }
        }
        let name = match (&class.id, name) {
            (Some(id), _) => self.key(id.name.as_str()),
            (None, Some(name)) => name,
            (None, None) => self.key(""),
        };
        let func = self.constructor(class, name);
        self.emit(Op::NewClass { dst: block, func });
        let (instance, statics) = self.members(class, block);
        if !instance.is_empty() {
            let func = self.initialiser(instance);
            let reg = self.temp();
            self.emit(Op::Closure { dst: reg, func });
            self.emit(Op::SetHome {
                func: reg,
                home: block + 1,
            });
            self.emit(Op::SetFields {
                class: block,
                func: reg,
            });
        }
        if let Some(cell) = held {
            self.emit(Op::SetCell { cell, src: block });
        }
        if let Some(symbol) = inner {
            self.initialise_symbol(symbol, block);
        }
        if !statics.is_empty() {
            let func = self.initialiser(statics);
            let start = self.temps(2);
            self.emit(Op::Closure { dst: start, func });
            self.emit(Op::SetHome {
                func: start,
                home: block,
            });
            self.emit(Op::Move {
                dst: start + 1,
                src: block,
            });
            let ignored = self.temp();
            self.emit(Op::Call {
                dst: ignored,
                start,
                argc: 0,
            });
        }
        self.emit(Op::Move { dst, src: block });
        if held.is_some() {
            self.own_classes.pop();
        }
        self.privates.pop();
        self.leave_scope(scope);
        self.release(mark);
    }

    /// Whether a class is referred to by its name inside its own scope.
    fn is_named_within(&self, symbol: SymbolId, class: ScopeId) -> bool {
        let within = |scope: ScopeId| {
            std::iter::successors(Some(scope), |&scope| self.scoping.scope_parent_id(scope))
                .any(|scope| scope == class)
        };
        let mut references = self.scoping.get_resolved_references(symbol);
        references.any(|reference| within(reference.scope_id()))
    }

    fn declare_privates(&mut self, class: &'a ast::Class<'a>) {
        let mut names: Vec<&str> = Vec::new();
        for element in &class.body.body {
            let key = match element {
                ClassElement::MethodDefinition(m) => &m.key,
                ClassElement::PropertyDefinition(p) => &p.key,
                ClassElement::AccessorProperty(p) => &p.key,
                _ => continue,
            };
            if let PropertyKey::PrivateIdentifier(ident) = key
                && !names.contains(&ident.name.as_str())
            {
                names.push(ident.name.as_str());
            }
        }
        self.privates.push(rustc_hash::FxHashMap::default());
        for name in names {
            let (var, cell) = self.hidden_variable();
            let mark = self.mark();
            let src = self.temp();
            let key = self.key(&format!("#{name}"));
            self.emit(Op::NewPrivateName {
                dst: src,
                name: key,
            });
            self.emit(Op::SetCell { cell, src });
            self.release(mark);
            if let Some(map) = self.privates.last_mut() {
                map.insert(name.to_owned(), var);
            }
        }
    }

    fn constructor(&mut self, class: &'a ast::Class<'a>, name: Key) -> u32 {
        let derived = class.heritage.is_some();
        let kind = if derived {
            FuncKind::DerivedConstructor
        } else {
            FuncKind::ClassConstructor
        };
        let written = class.body.body.iter().find_map(|element| match element {
            ClassElement::MethodDefinition(m)
                if m.kind == MethodDefinitionKind::Constructor && m.value.body.is_some() =>
            {
                Some(m)
            }
            _ => None,
        });
        let Some(method) = written else {
            let index = self.reserve_function();
            self.fns.push(FnState::new(kind, false, false, None));
            if derived {
                self.f().needs_args = true;
                let start = self.temps(3);
                self.emit(Op::RestArgs {
                    dst: start + 2,
                    from: 0,
                });
                self.emit(Op::SuperSpread { dst: start, start });
            }
            self.emit(Op::ReturnUndefined);
            let source = self.place_in_source(class.span);
            let func = self.finish_fn(name, (0, 0), source);
            self.program.funcs[index as usize] = func;
            return index;
        };
        let f = &method.value;
        self.compile_function(&Parts {
            params: &f.params,
            body: Body::Statements(f.body.as_ref().map_or(&[], |b| &b.statements)),
            scope: f.scope_id.get(),
            kind,
            is_async: false,
            is_generator: false,
            name,
            own_name: None,
            span: class.span,
        })
    }

    /// Defines the methods and collects what runs later: on each instance, and once on the class.
    fn members(
        &mut self,
        class: &'a ast::Class<'a>,
        block: Reg,
    ) -> (Vec<Member<'a>>, Vec<Member<'a>>) {
        let (mut methods, mut fields, mut statics) = (Vec::new(), Vec::new(), Vec::new());
        for element in &class.body.body {
            match element {
                ClassElement::MethodDefinition(m) => {
                    let home = if m.r#static { block } else { block + 1 };
                    if m.kind == MethodDefinitionKind::Constructor || m.value.body.is_none() {
                        continue;
                    }
                    if let Some(member) = self.method_definition(m, home) {
                        if m.r#static {
                            statics.insert(0, member);
                        } else {
                            methods.push(member);
                        }
                    }
                }
                ClassElement::PropertyDefinition(p) => {
                    if p.declare
                        || p.r#type == ast::PropertyDefinitionType::TSAbstractPropertyDefinition
                    {
                        continue;
                    }
                    let key = self.field_key(&p.key, p.computed);
                    let member = Member::Field {
                        key,
                        value: p.value.as_ref(),
                        span: p.span,
                    };
                    if p.r#static {
                        statics.push(member);
                    } else {
                        fields.push(member);
                    }
                }
                ClassElement::StaticBlock(b) => statics.push(Member::Block(b)),
                ClassElement::AccessorProperty(_) => {
                    self.unsupported("AccessorProperty", "write a getter and a setter");
                }
                ClassElement::TSIndexSignature(_) => {}
            }
        }
        methods.append(&mut fields);
        (methods, statics)
    }

    fn field_key(&mut self, key: &'a PropertyKey<'a>, computed: bool) -> FieldKey {
        if let PropertyKey::PrivateIdentifier(ident) = key {
            return FieldKey::Private(ident.name.to_string());
        }
        if let Some(text) = static_name(key, computed) {
            return FieldKey::Known(text);
        }
        let (var, cell) = self.hidden_variable();
        let mark = self.mark();
        let src = self.temp();
        self.property_key(key, None, src);
        self.emit(Op::SetCell { cell, src });
        self.release(mark);
        FieldKey::Computed(var)
    }

    fn method_definition(
        &mut self,
        m: &'a ast::MethodDefinition<'a>,
        home: Reg,
    ) -> Option<Member<'a>> {
        if let PropertyKey::PrivateIdentifier(ident) = &m.key {
            let (held, cell) = self.hidden_variable();
            let mark = self.mark();
            let src = self.temp();
            let key = self.temp();
            self.method_function(&m.value, src, method_span(m));
            self.emit(Op::SetHome { func: src, home });
            self.load_str(key, Text::new(&format!("#{}", ident.name)));
            self.emit(Op::SetName {
                func: src,
                key,
                prefix: prefix(m.kind),
            });
            self.emit(Op::SetCell { cell, src });
            self.release(mark);
            return Some(Member::PrivateMethod {
                name: ident.name.to_string(),
                kind: m.kind,
                held,
            });
        }
        let mark = self.mark();
        let key = self.temp();
        let src = self.temp();
        self.property_key(&m.key, static_name(&m.key, m.computed), key);
        self.method_function(&m.value, src, method_span(m));
        self.emit(Op::SetHome { func: src, home });
        self.emit(Op::SetName {
            func: src,
            key,
            prefix: prefix(m.kind),
        });
        self.emit(match m.kind {
            MethodDefinitionKind::Get => Op::DefClassGetter {
                obj: home,
                key,
                src,
            },
            MethodDefinitionKind::Set => Op::DefClassSetter {
                obj: home,
                key,
                src,
            },
            _ => Op::DefMethod {
                obj: home,
                key,
                src,
            },
        });
        self.release(mark);
        None
    }

    /// The function that runs the members on `this`.
    fn initialiser(&mut self, members: Vec<Member<'a>>) -> u32 {
        let index = self.reserve_function();
        let old = self.span;
        self.fns
            .push(FnState::new(FuncKind::Method, false, false, None));
        let this = self.temp();
        self.emit(Op::LoadThis { dst: this });
        for member in members {
            let mark = self.mark();
            match member {
                Member::Field { key, value, span } => {
                    self.at(span);
                    self.field(this, key, value);
                }
                Member::PrivateMethod { name, kind, held } => {
                    let name = self.private_name(&name);
                    let src = self.temp();
                    self.read_var(Var::Private(held), src);
                    self.emit(match kind {
                        MethodDefinitionKind::Get => Op::DefPrivateGetter {
                            obj: this,
                            name,
                            src,
                        },
                        MethodDefinitionKind::Set => Op::DefPrivateSetter {
                            obj: this,
                            name,
                            src,
                        },
                        _ => Op::DefPrivateMethod {
                            obj: this,
                            name,
                            src,
                        },
                    });
                }
                Member::Block(block) => {
                    let scope = block.scope_id.get();
                    self.enter_scope(scope, &block.body, false);
                    self.statements(&block.body);
                    self.leave_scope(scope);
                }
            }
            self.release(mark);
        }
        self.emit(Op::ReturnUndefined);
        let name = self.key("");
        let func = self.finish_fn(name, (0, 0), (0, 0));
        self.program.funcs[index as usize] = func;
        self.span = old;
        index
    }

    fn field(&mut self, this: Reg, key: FieldKey, value: Option<&'a ast::Expression<'a>>) {
        let src = self.temp();
        let known = match &key {
            FieldKey::Known(text) => Some(self.atom(text.clone())),
            FieldKey::Private(name) => Some(self.key(&format!("#{name}"))),
            FieldKey::Computed(_) => None,
        };
        match (value, known) {
            (Some(e), Some(name)) => self.named_expr_to(e, src, name),
            (Some(e), None) => self.expr_to(e, src),
            (None, _) => {
                self.emit(Op::LoadUndefined { dst: src });
            }
        }
        match key {
            FieldKey::Private(name) => {
                let name = self.private_name(&name);
                self.emit(Op::DefPrivate {
                    obj: this,
                    name,
                    src,
                });
            }
            FieldKey::Known(text) if crate::atoms::index_of(text.units()).is_none() => {
                let name = self.atom(text);
                let site = self.site(name);
                self.emit(Op::DefField {
                    obj: this,
                    site,
                    src,
                });
            }
            FieldKey::Known(text) => {
                let key = self.temp();
                self.load_str(key, text);
                self.emit(Op::DefElem {
                    obj: this,
                    key,
                    src,
                });
            }
            FieldKey::Computed(var) => {
                let key = self.temp();
                self.read_var(Var::Private(var), key);
                self.emit(Op::DefElem {
                    obj: this,
                    key,
                    src,
                });
            }
        }
    }
}

fn prefix(kind: MethodDefinitionKind) -> u8 {
    match kind {
        MethodDefinitionKind::Get => 1,
        MethodDefinitionKind::Set => 2,
        _ => 0,
    }
}

/// The text of a method without `static`, which isn't part of the function.
fn method_span(m: &ast::MethodDefinition<'_>) -> oxc_span::Span {
    let mut span = m.span;
    if m.r#static {
        span.start += "static ".len() as u32;
    }
    span
}
