//! The instruction set of the register machine.
//!
//! Registers are 16-bit offsets from the frame's base; jumps are relative to the instruction after the jump.

use crate::value::Key;

pub(crate) type Reg = u16;

/// One instruction, eight bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Nop,
    LoadNum {
        dst: Reg,
        k: u32,
    },
    LoadInt {
        dst: Reg,
        value: i32,
    },
    LoadStr {
        dst: Reg,
        key: Key,
    },
    LoadBig {
        dst: Reg,
        k: u32,
    },
    LoadUndefined {
        dst: Reg,
    },
    LoadNull {
        dst: Reg,
    },
    LoadBool {
        dst: Reg,
        value: bool,
    },
    LoadHole {
        dst: Reg,
    },
    LoadThis {
        dst: Reg,
    },
    LoadNewTarget {
        dst: Reg,
    },
    LoadCallee {
        dst: Reg,
    },
    Move {
        dst: Reg,
        src: Reg,
    },
    /// A fresh cell holding a hole.
    NewCell {
        dst: Reg,
    },
    /// Moves the register's value into a fresh cell.
    WrapCell {
        reg: Reg,
    },
    /// A fresh cell with the value of the old one: the next iteration's binding.
    FreshCell {
        reg: Reg,
    },
    GetCell {
        dst: Reg,
        cell: Reg,
    },
    SetCell {
        cell: Reg,
        src: Reg,
    },
    GetUp {
        dst: Reg,
        index: u16,
    },
    SetUp {
        index: u16,
        src: Reg,
    },
    /// Throws when the register holds a hole: the binding isn't initialised yet.
    CheckHole {
        src: Reg,
        name: Key,
    },
    GetGlobal {
        dst: Reg,
        name: Key,
    },
    /// As `GetGlobal`, but an unknown name reads as `undefined`.
    GetGlobalOrUndefined {
        dst: Reg,
        name: Key,
    },

    Add {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Sub {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Mul {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Div {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Rem {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Exp {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    BitAnd {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    BitOr {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    BitXor {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Shl {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Shr {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    UShr {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    AddInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    SubInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    MulInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    RemInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    AndInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    OrInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    ShlInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    ShrInt {
        dst: Reg,
        a: Reg,
        int: i16,
    },
    Lt {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Le {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Gt {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Ge {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Eq {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Ne {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Same {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    NotSame {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    In {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    InstanceOf {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Neg {
        dst: Reg,
        src: Reg,
    },
    ToNumber {
        dst: Reg,
        src: Reg,
    },
    ToNumeric {
        dst: Reg,
        src: Reg,
    },
    Inc {
        dst: Reg,
        src: Reg,
    },
    Dec {
        dst: Reg,
        src: Reg,
    },
    Not {
        dst: Reg,
        src: Reg,
    },
    BitNot {
        dst: Reg,
        src: Reg,
    },
    TypeOf {
        dst: Reg,
        src: Reg,
    },

    Jump {
        to: i32,
    },
    JumpTrue {
        src: Reg,
        to: i32,
    },
    JumpFalse {
        src: Reg,
        to: i32,
    },
    JumpNullish {
        src: Reg,
        to: i32,
    },
    JumpNotNullish {
        src: Reg,
        to: i32,
    },
    JumpNotUndefined {
        src: Reg,
        to: i32,
    },
    JumpLt {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpLe {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpGt {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpGe {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpSame {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpNotLt {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpNotLe {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpNotGt {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpNotGe {
        a: Reg,
        b: Reg,
        to: i16,
    },
    JumpNotSame {
        a: Reg,
        b: Reg,
        to: i16,
    },

    GetProp {
        dst: Reg,
        obj: Reg,
        site: u16,
    },
    SetProp {
        obj: Reg,
        site: u16,
        src: Reg,
    },
    GetLength {
        dst: Reg,
        obj: Reg,
        site: u16,
    },
    GetElem {
        dst: Reg,
        obj: Reg,
        key: Reg,
    },
    SetElem {
        obj: Reg,
        key: Reg,
        src: Reg,
    },
    /// Puts the method at `dst` and its receiver at `dst + 1`.
    GetMethod {
        dst: Reg,
        obj: Reg,
        site: u16,
    },
    GetElemMethod {
        dst: Reg,
        obj: Reg,
        key: Reg,
    },
    DeleteElem {
        dst: Reg,
        obj: Reg,
        key: Reg,
    },
    GetSuper {
        dst: Reg,
        key: Reg,
    },
    SetSuper {
        key: Reg,
        src: Reg,
    },
    GetPrivate {
        dst: Reg,
        obj: Reg,
        name: Reg,
    },
    SetPrivate {
        obj: Reg,
        name: Reg,
        src: Reg,
    },
    DefPrivate {
        obj: Reg,
        name: Reg,
        src: Reg,
    },
    /// A private method or accessor: `kind` 0 method, 1 getter, 2 setter in the register after `src`.
    DefPrivateMethod {
        obj: Reg,
        name: Reg,
        src: Reg,
    },
    DefPrivateGetter {
        obj: Reg,
        name: Reg,
        src: Reg,
    },
    DefPrivateSetter {
        obj: Reg,
        name: Reg,
        src: Reg,
    },
    HasPrivate {
        dst: Reg,
        obj: Reg,
        name: Reg,
    },
    NewPrivateName {
        dst: Reg,
        name: Key,
    },
    ToKey {
        dst: Reg,
        src: Reg,
    },
    RequireObject {
        src: Reg,
    },

    NewObject {
        dst: Reg,
    },
    DefField {
        obj: Reg,
        site: u16,
        src: Reg,
    },
    DefElem {
        obj: Reg,
        key: Reg,
        src: Reg,
    },
    DefMethod {
        obj: Reg,
        key: Reg,
        src: Reg,
    },
    DefGetter {
        obj: Reg,
        key: Reg,
        src: Reg,
    },
    DefSetter {
        obj: Reg,
        key: Reg,
        src: Reg,
    },
    DefClassGetter {
        obj: Reg,
        key: Reg,
        src: Reg,
    },
    DefClassSetter {
        obj: Reg,
        key: Reg,
        src: Reg,
    },
    CopyProps {
        obj: Reg,
        src: Reg,
    },
    /// `dst` = own enumerable properties of `src` but for the `count` keys in the registers after `dst`.
    RestProps {
        dst: Reg,
        src: Reg,
        count: u16,
    },
    SetName {
        func: Reg,
        key: Reg,
        prefix: u8,
    },
    NewArray {
        dst: Reg,
        capacity: u32,
    },
    ArrayPush {
        arr: Reg,
        src: Reg,
    },
    ArrayHole {
        arr: Reg,
    },
    ArraySpread {
        arr: Reg,
        src: Reg,
    },
    Concat {
        dst: Reg,
        start: Reg,
        count: u16,
    },
    NewRegExp {
        dst: Reg,
        k: u32,
    },
    TemplateObject {
        dst: Reg,
        k: u32,
    },
    Closure {
        dst: Reg,
        func: u32,
    },
    SetHome {
        func: Reg,
        home: Reg,
    },
    /// Constructor at `dst`, prototype at `dst + 1`; the heritage is in `dst + 2` unless that holds a hole.
    NewClass {
        dst: Reg,
        func: u32,
    },
    SetFields {
        class: Reg,
        func: Reg,
    },

    Call {
        dst: Reg,
        start: Reg,
        argc: u16,
    },
    CallSpread {
        dst: Reg,
        start: Reg,
    },
    New {
        dst: Reg,
        start: Reg,
        argc: u16,
    },
    NewSpread {
        dst: Reg,
        start: Reg,
    },
    SuperCall {
        dst: Reg,
        start: Reg,
        argc: u16,
    },
    SuperSpread {
        dst: Reg,
        start: Reg,
    },
    RestArgs {
        dst: Reg,
        from: u16,
    },
    Arguments {
        dst: Reg,
    },
    Return {
        src: Reg,
    },
    ReturnUndefined,
    Throw {
        src: Reg,
    },
    /// Throws a caught value on; the place of the first throw stays.
    Rethrow {
        src: Reg,
    },
    /// Raises the prepared fault number `k` of the program.
    Fault {
        k: u32,
    },

    /// Iterator state in three registers: iterator, its `next`, done flag.
    GetIterator {
        dst: Reg,
        src: Reg,
    },
    GetAsyncIterator {
        dst: Reg,
        src: Reg,
    },
    IterStep {
        iter: Reg,
        dst: Reg,
    },
    IterCallNext {
        iter: Reg,
        dst: Reg,
    },
    IterUnpack {
        iter: Reg,
        dst: Reg,
        src: Reg,
    },
    IterRest {
        iter: Reg,
        dst: Reg,
    },
    IterClose {
        iter: Reg,
    },
    IterCloseQuietly {
        iter: Reg,
    },
    /// Calls `return` of an async iterator; `dst` gets its result, or a hole when there is none.
    IterCallReturn {
        iter: Reg,
        dst: Reg,
    },
    RequireIterResult {
        src: Reg,
    },
    ForInStart {
        dst: Reg,
        src: Reg,
    },
    ForInStep {
        iter: Reg,
        dst: Reg,
    },
    Await {
        dst: Reg,
        src: Reg,
    },
    InitialYield,
    /// Yields `src`; on resumption `dst` holds the value sent and `dst + 1` how: 0 next, 1 throw, 2 return.
    Yield {
        dst: Reg,
        src: Reg,
    },
    /// Calls the inner iterator of `yield*` in the way of `mode`; `dst` gets the result,
    /// `mode + 2` is true when an inner iterator without the method ends the delegation.
    DelegateCall {
        dst: Reg,
        iter: Reg,
        mode: Reg,
    },
    /// Splits an inner result: `dst` gets `done`.
    DelegateDone {
        dst: Reg,
        src: Reg,
    },
    /// Yields an inner result as it is.
    YieldRaw {
        dst: Reg,
        src: Reg,
    },
}
