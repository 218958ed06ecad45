//! Reads and changes the properties, attributes, and blocks of functions.

use std::ffi::{CString, c_int};

use crate::context::copy_text;
use crate::global::Linkage;
use crate::metadata::{Metadata, Subprogram};
use crate::module::Module;
use crate::sys::Api;
use crate::value::{Block, Function};

/// An attribute kind, as the library numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeKind(u32);

impl AttributeKind {
    /// Returns the attribute kind with this name, if the library knows it.
    pub fn named(module: &Module<'_>, name: &str) -> Option<Self> {
        // SAFETY: the name is given with its length; 0 means unknown.
        let kind = unsafe {
            (module.api().LLVMGetEnumAttributeKindForName)(name.as_ptr().cast(), name.len())
        };
        (kind != 0).then_some(Self(kind))
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// LLVM's index for attributes that apply to a function, not to a parameter or the result.
const FUNCTION_INDEX: u32 = u32::MAX;

impl<'m> Function<'m> {
    fn api(self) -> &'m Api {
        self.value().api()
    }

    /// The linkage name of the function.
    pub fn name(self) -> String {
        self.value().name()
    }

    /// Whether the function has no body.
    pub fn is_declaration(self) -> bool {
        // SAFETY: a function.
        unsafe { (self.api().LLVMIsDeclaration)(self.raw()) != 0 }
    }

    /// Makes a copy of another module's function (`available_externally`) a function that each
    /// module may define (`linkonce_odr`).
    ///
    /// # Panics
    /// If the function has another linkage.
    pub fn define_in_each_module(self) {
        assert!(
            self.linkage() == Linkage::AvailableExternally,
            "a copy of another module's function"
        );
        // SAFETY: a function; 3 is linkonce_odr linkage, which every definition may have.
        unsafe { (self.module().api().LLVMSetLinkage)(self.raw(), 3) }
    }

    /// The linkage of the function.
    pub fn linkage(self) -> Linkage {
        self.value().linkage()
    }

    /// The section of the function.
    pub fn section(self) -> Option<String> {
        self.value().section()
    }

    /// Puts the function into a section.
    pub fn set_section(self, name: &str) {
        self.value().put_in_section(name);
    }

    /// Whether the function is in a comdat group.
    pub fn has_comdat(self) -> bool {
        self.value().has_comdat()
    }

    /// Puts the function into a group of sections of its own (an ELF group, in LLVM a comdat). LLVM
    /// names the sections. The linker keeps or drops a group as a whole, and never takes the group
    /// of another object instead.
    ///
    /// # Panics
    /// If the name contains a zero byte.
    pub fn isolate(self) {
        const NO_DEDUPLICATE: c_int = 3;
        let name = CString::new(self.name()).expect("a name without zero bytes");
        let api = self.api();
        // SAFETY: a function of the module; LLVM copies the name.
        unsafe {
            let comdat = (api.LLVMGetOrInsertComdat)(self.module().raw(), name.as_ptr());
            (api.LLVMSetComdatSelectionKind)(comdat, NO_DEDUPLICATE);
            (api.LLVMSetComdat)(self.raw(), comdat);
        }
    }

    /// Hides the function from other images.
    pub fn set_hidden(self) {
        // SAFETY: a function; 1 is hidden visibility.
        unsafe { (self.api().LLVMSetVisibility)(self.raw(), 1) }
    }

    /// The number of the function's calling convention.
    pub fn calling_convention(self) -> u32 {
        // SAFETY: a function.
        unsafe { (self.api().LLVMGetFunctionCallConv)(self.raw()) }
    }

    /// Sets the function's calling convention.
    pub fn set_calling_convention(self, number: u32) {
        // SAFETY: a function.
        unsafe { (self.api().LLVMSetFunctionCallConv)(self.raw(), number) }
    }

    /// Whether the function has a garbage collector strategy.
    pub fn has_gc(self) -> bool {
        // SAFETY: a function; null if none.
        unsafe { !(self.api().LLVMGetGC)(self.raw()).is_null() }
    }

    /// Whether the function has the attribute.
    pub fn has_attribute(self, kind: AttributeKind) -> bool {
        // SAFETY: a function; null if absent.
        unsafe {
            !(self.api().LLVMGetEnumAttributeAtIndex)(self.raw(), FUNCTION_INDEX, kind.0).is_null()
        }
    }

    /// The value of a string attribute, such as `target-features`.
    pub fn text_attribute(self, name: &str) -> Option<String> {
        // SAFETY: a function, a text with its length; null if absent, else a text that lives as
        // long as the context.
        unsafe {
            let attribute = (self.api().LLVMGetStringAttributeAtIndex)(
                self.raw(),
                FUNCTION_INDEX,
                name.as_ptr().cast(),
                name.len() as u32,
            );
            if attribute.is_null() {
                return None;
            }
            let mut length = 0;
            let start = (self.api().LLVMGetStringAttributeValue)(attribute, &mut length);
            Some(copy_text(start, length as usize))
        }
    }

    /// Adds a string attribute with a value, such as `function-inline-threshold`.
    pub fn set_text_attribute(self, name: &str, value: &str) {
        // SAFETY: an attribute of this context, for a function; both texts have their lengths.
        unsafe {
            let attribute = (self.api().LLVMCreateStringAttribute)(
                self.module().context().raw(),
                name.as_ptr().cast(),
                name.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            );
            (self.api().LLVMAddAttributeAtIndex)(self.raw(), FUNCTION_INDEX, attribute);
        }
    }

    /// Removes a string attribute, if the function has it.
    pub fn remove_text_attribute(self, name: &str) {
        // SAFETY: a function, a text with its length.
        unsafe {
            (self.api().LLVMRemoveStringAttributeAtIndex)(
                self.raw(),
                FUNCTION_INDEX,
                name.as_ptr().cast(),
                name.len() as u32,
            );
        }
    }

    /// Sets the function's metadata of the kind with this number ([`Module::metadata_kind`]).
    ///
    /// # Panics
    /// If the metadata is not a tuple.
    pub fn set_metadata(self, kind: u32, node: Metadata<'m>) {
        assert!(node.is_tuple(), "metadata is attached as a node");
        // SAFETY: a function and a node of its context.
        unsafe { (self.api().LLVMGlobalSetMetadata)(self.raw(), kind, node.raw()) }
    }

    /// Adds an attribute without a value.
    pub fn add_attribute(self, kind: AttributeKind) {
        // SAFETY: an attribute of this context, for a function.
        unsafe {
            let attribute =
                (self.api().LLVMCreateEnumAttribute)(self.module().context().raw(), kind.0, 0);
            (self.api().LLVMAddAttributeAtIndex)(self.raw(), FUNCTION_INDEX, attribute);
        }
    }

    /// Removes an attribute.
    pub fn remove_attribute(self, kind: AttributeKind) {
        // SAFETY: a function.
        unsafe { (self.api().LLVMRemoveEnumAttributeAtIndex)(self.raw(), FUNCTION_INDEX, kind.0) }
    }

    /// The debug information of the function.
    pub fn subprogram(self) -> Option<Subprogram<'m>> {
        // SAFETY: a function; null without debug info.
        Metadata::new(
            unsafe { (self.api().LLVMGetSubprogram)(self.raw()) },
            self.module(),
        )?
        .subprogram()
    }

    /// The blocks of the function, in order. The entry comes first.
    pub fn blocks(self) -> impl Iterator<Item = Block<'m>> {
        // SAFETY: first and next of a live list; null at the end.
        let first = unsafe { (self.api().LLVMGetFirstBasicBlock)(self.raw()) };
        std::iter::successors(Block::new(first, self.module()), move |block| {
            // SAFETY: as above.
            Block::new(
                unsafe { (self.api().LLVMGetNextBasicBlock)(block.raw()) },
                self.module(),
            )
        })
    }

    /// Adds an empty block at the end of the function.
    pub fn append_block(self, name: &str) -> Block<'m> {
        let name = CString::new(name).expect("names of blocks have no NUL");
        // SAFETY: a function of this context.
        let raw = unsafe {
            (self.api().LLVMAppendBasicBlockInContext)(
                self.module().context().raw(),
                self.raw(),
                name.as_ptr(),
            )
        };
        Block::new(raw, self.module()).expect("a block is returned")
    }
}
