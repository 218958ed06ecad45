//! Reads and creates metadata: debug locations, scopes, subprograms, and files, and tuples such as
//! branch weights.

use std::hash::{Hash, Hasher};
use std::ptr::NonNull;

use crate::context::copy_text;
use crate::module::Module;
use crate::sys::{LMetadata, LValue};
use crate::value::Value;

/// A metadata node. Handles are equal if they refer to the same node.
#[derive(Clone, Copy)]
pub struct Metadata<'m> {
    raw: NonNull<LMetadata>,
    module: &'m Module<'m>,
}

impl PartialEq for Metadata<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Metadata<'_> {}

impl Hash for Metadata<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}

/// Metadata kinds, as `LLVMGetMetadataKind` numbers them. LLVM only appends to this list.
const STRING: u32 = 0;
const TUPLE: u32 = 4;
const LOCATION: u32 = 5;
const FIRST_NODE: u32 = 4;
const FILE: u32 = 15;
const SUBPROGRAM: u32 = 17;
const LEXICAL_BLOCK: u32 = 18;
const LEXICAL_BLOCK_FILE: u32 = 19;
const COMMON_BLOCK: u32 = 31;
/// Argument lists are no nodes since LLVM 18.
const ARGUMENT_LIST: u32 = 34;

impl<'m> Metadata<'m> {
    pub(crate) fn new(raw: *mut LMetadata, module: &'m Module<'m>) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self { raw, module })
    }

    pub(crate) fn raw(self) -> *mut LMetadata {
        self.raw.as_ptr()
    }

    pub(crate) fn module(self) -> &'m Module<'m> {
        self.module
    }

    pub(crate) fn kind(self) -> u32 {
        // SAFETY: a live node.
        unsafe { (self.module.api().LLVMGetMetadataKind)(self.raw()) }
    }

    /// Wraps the node as a value, because the C API reads operands only from a value.
    pub(crate) fn as_value(self) -> Value<'m> {
        // SAFETY: a live node of this context.
        let raw = unsafe {
            (self.module.api().LLVMMetadataAsValue)(self.module.context().raw(), self.raw())
        };
        Value::new(raw, self.module).expect("LLVMMetadataAsValue returns a value")
    }

    /// Returns the operands of the node. Absent operands are `None`. A string, a constant, or an
    /// argument list has no operands.
    pub fn operands(self) -> Vec<Option<Metadata<'m>>> {
        if self.kind() < FIRST_NODE || self.kind() == ARGUMENT_LIST {
            return Vec::new();
        }
        let api = self.module.api();
        let value = self.as_value().raw();
        // SAFETY: a node wrapped as value; the buffer has the size that LLVM reports. Operands are
        // null, values that wrap metadata, or constants; LLVMValueAsMetadata accepts both.
        unsafe {
            let count = (api.LLVMGetMDNodeNumOperands)(value) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            (api.LLVMGetMDNodeOperands)(value, operands.as_mut_ptr());
            operands
                .into_iter()
                .map(|operand| {
                    let raw = if operand.is_null() {
                        return None;
                    } else {
                        (api.LLVMValueAsMetadata)(operand)
                    };
                    Metadata::new(raw, self.module)
                })
                .collect()
        }
    }

    /// The operand with this index.
    pub fn operand(self, index: usize) -> Option<Metadata<'m>> {
        self.operands().into_iter().nth(index).flatten()
    }

    /// The text of a metadata string.
    pub fn as_string(self) -> Option<String> {
        if self.kind() != STRING {
            return None;
        }
        let mut length = 0;
        // SAFETY: a string; the text belongs to the context.
        Some(unsafe {
            let start = (self.module.api().LLVMGetMDString)(self.as_value().raw(), &mut length);
            copy_text(start, length as usize)
        })
    }

    /// The integer of a metadata constant.
    pub fn as_int(self) -> Option<u64> {
        const CONSTANT: u32 = 1;
        if self.kind() != CONSTANT {
            return None;
        }
        let api = self.module.api();
        let mut operand = std::ptr::null_mut();
        // SAFETY: a value that wraps a constant has one operand, which is the constant.
        unsafe { (api.LLVMGetMDNodeOperands)(self.as_value().raw(), &mut operand) };
        Value::new(operand, self.module)?
            .as_int()
            .map(|int| int as u64)
    }

    /// Creates a tuple of operands.
    pub fn node(module: &'m Module<'m>, operands: &[Metadata<'m>]) -> Metadata<'m> {
        let mut raw: Vec<_> = operands.iter().map(|operand| operand.raw()).collect();
        // SAFETY: live nodes of this context, given with their number.
        let node = unsafe {
            (module.api().LLVMMDNodeInContext2)(module.context().raw(), raw.as_mut_ptr(), raw.len())
        };
        Metadata::new(node, module).expect("LLVMMDNodeInContext2 returns a node")
    }

    /// Creates a metadata string.
    pub fn string(module: &'m Module<'m>, text: &str) -> Metadata<'m> {
        // SAFETY: the text is given with its length.
        let raw = unsafe {
            (module.api().LLVMMDStringInContext2)(
                module.context().raw(),
                text.as_ptr().cast(),
                text.len(),
            )
        };
        Metadata::new(raw, module).expect("LLVMMDStringInContext2 returns a string")
    }

    /// Wraps a constant as metadata.
    pub fn constant(value: Value<'m>) -> Metadata<'m> {
        assert!(value.is_constant(), "only constants are metadata constants");
        // SAFETY: a live constant.
        let raw = unsafe { (value.module().api().LLVMValueAsMetadata)(value.raw()) };
        Metadata::new(raw, value.module()).expect("LLVMValueAsMetadata returns metadata")
    }

    /// Whether the metadata is a tuple.
    pub fn is_tuple(self) -> bool {
        self.kind() == TUPLE
    }

    /// The metadata as a debug location, if it is a debug location.
    pub fn as_location(self) -> Option<Location<'m>> {
        (self.kind() == LOCATION).then_some(Location(self))
    }

    /// The metadata as a subprogram, or the subprogram around a lexical block.
    pub fn subprogram(self) -> Option<Subprogram<'m>> {
        let mut scope = self;
        loop {
            match scope.kind() {
                SUBPROGRAM => return Some(Subprogram(scope)),
                // Operand 1 of a lexical block is the enclosing scope.
                LEXICAL_BLOCK | LEXICAL_BLOCK_FILE | COMMON_BLOCK => scope = scope.operand(1)?,
                _ => return None,
            }
        }
    }

    /// The file node of a subprogram or lexical block.
    fn file_node(self) -> Option<Metadata<'m>> {
        // SAFETY: a scope; its file is null or a node.
        let raw = unsafe { (self.module.api().LLVMDIScopeGetFile)(self.raw()) };
        Metadata::new(raw, self.module).filter(|file| file.kind() == FILE)
    }

    /// The directory and name of the file. The name may be absolute.
    fn file(self) -> (String, String) {
        let Some(file) = self.file_node() else {
            return Default::default();
        };
        let api = self.module.api();
        // SAFETY: a file, whose strings belong to the context.
        unsafe {
            let (mut directory_length, mut name_length) = (0, 0);
            let directory = (api.LLVMDIFileGetDirectory)(file.raw(), &mut directory_length);
            let name = (api.LLVMDIFileGetFilename)(file.raw(), &mut name_length);
            (
                copy_text(directory, directory_length as usize),
                copy_text(name, name_length as usize),
            )
        }
    }
}

impl<'m> Value<'m> {
    /// The metadata that the value wraps.
    pub fn as_metadata(self) -> Option<Metadata<'m>> {
        // SAFETY: a live value.
        Metadata::new(
            unsafe { (self.api().LLVMValueAsMetadata)(self.raw()) },
            self.module(),
        )
    }
}

impl Module<'_> {
    /// The value of an integer module flag, such as `PIC Level`.
    pub fn flag(&self, name: &str) -> Option<u64> {
        // SAFETY: the key is given with its length; null means absent.
        let flag =
            unsafe { (self.api().LLVMGetModuleFlag)(self.raw(), name.as_ptr().cast(), name.len()) };
        Metadata::new(flag, self)?.as_int()
    }

    /// Whether the module has a flag with this name, of any type.
    pub fn has_flag(&self, name: &str) -> bool {
        // SAFETY: the key is given with its length; null means absent.
        let flag =
            unsafe { (self.api().LLVMGetModuleFlag)(self.raw(), name.as_ptr().cast(), name.len()) };
        !flag.is_null()
    }

    /// Adds a module flag. Modules with another value of the flag cannot be merged with this one.
    ///
    /// # Panics
    /// If the module has a flag with this name.
    pub fn add_flag<'m>(&'m self, name: &str, value: Metadata<'m>) {
        const ERROR_IF_DIFFERENT: i32 = 0;
        assert!(!self.has_flag(name), "a module has each flag once");
        // SAFETY: the key is given with its length; a live node of this context.
        unsafe {
            (self.api().LLVMAddModuleFlag)(
                self.raw(),
                ERROR_IF_DIFFERENT,
                name.as_ptr().cast(),
                name.len(),
                value.raw(),
            );
        }
    }

    /// The compiler's identification (`llvm.ident`): `rustc version 1.95.0 (…)`, `clang version …`.
    pub fn ident(&self) -> Option<String> {
        let api = self.api();
        let name = c"llvm.ident";
        // SAFETY: the name is a C string.
        let count =
            unsafe { (api.LLVMGetNamedMetadataNumOperands)(self.raw(), name.as_ptr()) } as usize;
        let mut operands: Vec<*mut LValue> = vec![std::ptr::null_mut(); count];
        // SAFETY: the buffer has as many entries as there are operands.
        unsafe {
            (api.LLVMGetNamedMetadataOperands)(self.raw(), name.as_ptr(), operands.as_mut_ptr());
        }
        Value::new(*operands.first()?, self)?
            .as_metadata()?
            .operand(0)?
            .as_string()
    }

    /// Makes the code generator write the addresses of pseudo-probes. It does so in modules with
    /// descriptions of probed functions, which may be empty.
    pub fn emit_pseudo_probes(&self) {
        let name = "llvm.pseudo_probe_desc";
        // SAFETY: the name is given with its length.
        unsafe {
            (self.api().LLVMGetOrInsertNamedMetadata)(self.raw(), name.as_ptr().cast(), name.len());
        }
    }

    /// Returns the number of a metadata kind, such as `prof`.
    pub fn metadata_kind(&self, name: &str) -> u32 {
        // SAFETY: the name is given with its length.
        unsafe {
            (self.api().LLVMGetMDKindIDInContext)(
                self.context().raw(),
                name.as_ptr().cast(),
                name.len() as u32,
            )
        }
    }
}

/// A source location, possibly in an inlined function. Handles are equal if they refer to the same
/// node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location<'m>(Metadata<'m>);

impl<'m> Location<'m> {
    /// The line; 0 if unknown.
    pub fn line(self) -> u32 {
        // SAFETY: a location.
        unsafe { (self.0.module.api().LLVMDILocationGetLine)(self.0.raw()) }
    }

    /// The column; 0 if unknown.
    pub fn column(self) -> u32 {
        // SAFETY: a location.
        unsafe { (self.0.module.api().LLVMDILocationGetColumn)(self.0.raw()) }
    }

    /// The function or lexical block of the location.
    pub fn scope(self) -> Option<Metadata<'m>> {
        // SAFETY: a location.
        Metadata::new(
            unsafe { (self.0.module.api().LLVMDILocationGetScope)(self.0.raw()) },
            self.0.module,
        )
    }

    /// The directory and name of the location's file, if it differs from the file of its
    /// subprogram: because of `#include` or `#line` in the function.
    pub fn other_file(self) -> Option<(String, String)> {
        let scope = self.scope()?;
        if scope.kind() == SUBPROGRAM {
            return None;
        }
        let subprogram = scope.subprogram()?;
        if subprogram.0.file_node() == scope.file_node() {
            return None;
        }
        let (subprogram_file, scope_file) = (subprogram.file(), scope.file());
        (scope_file != subprogram_file && !scope_file.1.is_empty()).then_some(scope_file)
    }

    /// The location of the call, if the function was inlined.
    pub fn inlined_at(self) -> Option<Location<'m>> {
        // SAFETY: a location; null if not inlined.
        let raw = unsafe { (self.0.module.api().LLVMDILocationGetInlinedAt)(self.0.raw()) };
        Metadata::new(raw, self.0.module).map(Location)
    }
}

/// Hexadecimal digits of an MD5.
const MD5_DIGITS: usize = 32;

/// A function as the debug information describes it. Handles are equal if they refer to the same
/// node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subprogram<'m>(Metadata<'m>);

impl<'m> Subprogram<'m> {
    /// The source name.
    pub fn name(self) -> String {
        self.0
            .operand(2)
            .and_then(Metadata::as_string)
            .unwrap_or_default()
    }

    /// The linkage name; empty if it equals the source name (C).
    pub fn linkage_name(self) -> String {
        self.0
            .operand(3)
            .and_then(Metadata::as_string)
            .unwrap_or_default()
    }

    /// Whether the subprogram has template parameters: it is an instance of a generic function.
    pub fn is_generic(self) -> bool {
        // Operand 9 of a DISubprogram, if present, is the list of template parameters.
        self.0
            .operand(9)
            .is_some_and(|parameters| !parameters.operands().is_empty())
    }

    /// The line of the declaration.
    pub fn line(self) -> u32 {
        // SAFETY: a subprogram.
        unsafe { (self.0.module.api().LLVMDISubprogramGetLine)(self.0.raw()) }
    }

    /// The directory and file name. The file name may be absolute.
    pub fn file(self) -> (String, String) {
        self.0.file()
    }

    /// The MD5 of the file. `None` if the compiler did not compute it.
    pub fn file_md5(self) -> Option<[u8; 16]> {
        // Operand 2 of a DIFile is a checksum. Of the kinds of checksums, only an MD5 has this
        // length.
        let checksum = self.0.file_node()?.operand(2)?.as_string()?;
        let number = u128::from_str_radix(&checksum, 16).ok()?;
        (checksum.len() == MD5_DIGITS).then_some(number.to_be_bytes())
    }
}
