//! Constructors and destructors as `.init_array` and `.fini_array` entries.
//!
//! LLVM lists a module's constructors in the global `llvm.global_ctors`. A target machine that was
//! made by the C API emits this list into `.ctors`. A program linked by lld, the linker that comes
//! with rustc, never runs that section. So each entry of the list becomes an internal pointer in
//! the section `.init_array`, or `.init_array.00101` for priority 101, in the comdat group of its
//! key. With the option UseInitArray, the code generator does the same. The list itself is deleted.

use holloway_llvm::{Linkage, Module, Type, Value};

/// Priority of an entry that names none.
const DEFAULT_PRIORITY: i64 = 65535;

/// Rewrites the lists of constructors and destructors.
pub(crate) fn rewrite(module: &mut Module<'_>) {
    for (list, section, name) in [
        ("llvm.global_ctors", ".init_array", "__holloway_constructor"),
        ("llvm.global_dtors", ".fini_array", "__holloway_destructor"),
    ] {
        rewrite_list(module, list, section, name);
        module.delete_global(list);
    }
}

/// An entry of a list.
struct Entry<'m> {
    priority: i64,
    function: Value<'m>,
    /// The function or variable for which the entry is needed, or null.
    key: Value<'m>,
}

/// Makes a pointer in `section` for each entry of a list. `name` begins the pointers' names.
fn rewrite_list<'m>(module: &'m Module<'m>, list: &str, section: &str, name: &str) {
    let Some(array) = module
        .global(list)
        .and_then(holloway_llvm::Global::initializer)
    else {
        return;
    };
    let mut entries: Vec<Entry<'_>> = (0..array.operand_count())
        .filter_map(|index| entry(array.operand(index)))
        .collect();
    // The sort is stable: entries of equal priority keep their order, as in the code generator.
    entries.sort_by_key(|entry| entry.priority);
    for (index, entry) in entries.iter().enumerate() {
        let global = module.add_global(&format!("{name}.{index}"), Type::pointer(module));
        global.set_internal();
        global.set_initializer(entry.function);
        global.set_alignment(8);
        let section = match entry.priority {
            DEFAULT_PRIORITY => section.to_string(),
            priority => format!("{section}.{priority:05}"),
        };
        global.set_section(&section);
        if !entry.key.is_null() {
            global.join_comdat_of(entry.key);
        }
    }
}

/// Reads an entry `{ i32 priority, ptr function, ptr key }`. `None` if the entry has no function,
/// or if the key's code is in another object.
fn entry(value: Value<'_>) -> Option<Entry<'_>> {
    if value.operand_count() < 3 {
        return None;
    }
    let (function, key) = (value.operand(1), value.operand(2));
    let is_key_external = key
        .as_function()
        .is_some_and(|key| key.is_declaration() || key.linkage() == Linkage::AvailableExternally);
    let priority = value.operand(0).as_int()?;
    (!function.is_null() && !is_key_external).then_some(Entry {
        priority,
        function,
        key,
    })
}
