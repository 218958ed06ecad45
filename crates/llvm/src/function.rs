//! Functions: what they say of themselves, their attributes, their blocks.

use std::ffi::CString;

use crate::context::text_of;
use crate::global::Linkage;
use crate::metadata::{Metadata, Subprogram};
use crate::module::Module;
use crate::sys::Api;
use crate::value::{Block, Function};

/// An attribute kind, as the library numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeKind(u32);

impl AttributeKind {
    /// The kind of this name, if the library knows it.
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

/// Index of the attributes of a function itself.
const OF_FUNCTION: u32 = u32::MAX;

impl<'m> Function<'m> {
    fn api(self) -> &'m Api {
        self.value().api()
    }

    /// Its linkage name.
    pub fn name(self) -> String {
        self.value().name()
    }

    /// Whether it has no body.
    pub fn is_declaration(self) -> bool {
        // SAFETY: a function.
        unsafe { (self.api().LLVMIsDeclaration)(self.raw()) != 0 }
    }

    /// Its linkage.
    pub fn linkage(self) -> Linkage {
        self.value().linkage()
    }

    /// The section it was put in.
    pub fn section(self) -> Option<String> {
        self.value().section()
    }

    /// Puts it in a section.
    pub fn set_section(self, name: &str) {
        self.value().put_in_section(name);
    }

    /// Whether it is in a comdat group.
    pub fn has_comdat(self) -> bool {
        self.value().has_comdat()
    }

    /// Hides it from other images.
    pub fn set_hidden(self) {
        // SAFETY: a function; 1 is hidden visibility.
        unsafe { (self.api().LLVMSetVisibility)(self.raw(), 1) }
    }

    /// Number of its calling convention.
    pub fn calling_convention(self) -> u32 {
        // SAFETY: a function.
        unsafe { (self.api().LLVMGetFunctionCallConv)(self.raw()) }
    }

    /// Sets its calling convention.
    pub fn set_calling_convention(self, number: u32) {
        // SAFETY: a function.
        unsafe { (self.api().LLVMSetFunctionCallConv)(self.raw(), number) }
    }

    /// Whether it is managed by a garbage collector strategy.
    pub fn has_gc(self) -> bool {
        // SAFETY: a function; null if none.
        unsafe { !(self.api().LLVMGetGC)(self.raw()).is_null() }
    }

    /// Whether it carries the attribute.
    pub fn has_attribute(self, kind: AttributeKind) -> bool {
        // SAFETY: a function; null if absent.
        unsafe {
            !(self.api().LLVMGetEnumAttributeAtIndex)(self.raw(), OF_FUNCTION, kind.0).is_null()
        }
    }

    /// The value of an attribute that is known by a text: `target-features`.
    pub fn text_attribute(self, name: &str) -> Option<String> {
        // SAFETY: a function, a text with its length; null if absent, else a text that lives as
        // long as the context.
        unsafe {
            let attribute = (self.api().LLVMGetStringAttributeAtIndex)(
                self.raw(),
                OF_FUNCTION,
                name.as_ptr().cast(),
                name.len() as u32,
            );
            if attribute.is_null() {
                return None;
            }
            let mut length = 0;
            let start = (self.api().LLVMGetStringAttributeValue)(attribute, &mut length);
            Some(text_of(start, length as usize))
        }
    }

    /// Adds an attribute without value.
    pub fn add_attribute(self, kind: AttributeKind) {
        // SAFETY: an attribute of this context, for a function.
        unsafe {
            let attribute =
                (self.api().LLVMCreateEnumAttribute)(self.module().context().raw(), kind.0, 0);
            (self.api().LLVMAddAttributeAtIndex)(self.raw(), OF_FUNCTION, attribute);
        }
    }

    /// Removes an attribute.
    pub fn remove_attribute(self, kind: AttributeKind) {
        // SAFETY: a function.
        unsafe { (self.api().LLVMRemoveEnumAttributeAtIndex)(self.raw(), OF_FUNCTION, kind.0) }
    }

    /// What the debug info says it is.
    pub fn subprogram(self) -> Option<Subprogram<'m>> {
        // SAFETY: a function; null without debug info.
        Metadata::new(
            unsafe { (self.api().LLVMGetSubprogram)(self.raw()) },
            self.module(),
        )?
        .subprogram()
    }

    /// Its blocks, in order; the entry first.
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

    /// Adds an empty block at its end.
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
