//! Constructors and destructors as `.init_array` and `.fini_array` entries.
//!
//! The C API's target machine emits `llvm.global_ctors` into `.ctors`, which lld, rustc's own
//! linker, never runs. So each entry becomes an internal pointer in section `.init_array`
//! (`.init_array.00101` with a priority), in the comdat group of its key, as the code generator
//! would do with UseInitArray. The list itself is deleted.

use holloway_llvm::{Linkage, Module, Type, Value};

/// Priority of an entry that names none.
const DEFAULT_PRIORITY: i64 = 65535;

/// Rewrites both lists.
pub(crate) fn rewrite(module: &mut Module<'_>) {
    for (list, section, name) in [
        ("llvm.global_ctors", ".init_array", "__holloway_constructor"),
        ("llvm.global_dtors", ".fini_array", "__holloway_destructor"),
    ] {
        spread(module, list, section, name);
        module.delete_global(list);
    }
}

/// An entry of a list.
struct Entry<'m> {
    priority: i64,
    function: Value<'m>,
    key: Value<'m>,
}

fn spread<'m>(module: &'m Module<'m>, list: &str, section: &str, name: &str) {
    let Some(array) = module
        .global(list)
        .and_then(holloway_llvm::Global::initializer)
    else {
        return;
    };
    let mut entries: Vec<Entry<'_>> = (0..array.operand_count())
        .filter_map(|index| entry(array.operand(index)))
        .collect();
    // The code generator sorts by priority too, and keeps the order of equals.
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

/// Reads `{ i32 priority, ptr function, ptr key }`. `None` for an entry without a function, or
/// whose key's code is in another object.
fn entry(value: Value<'_>) -> Option<Entry<'_>> {
    if value.operand_count() < 3 {
        return None;
    }
    let (function, key) = (value.operand(1), value.operand(2));
    let elsewhere = key
        .as_function()
        .is_some_and(|key| key.is_declaration() || key.linkage() == Linkage::AvailableExternally);
    let priority = value.operand(0).as_int()?;
    (!function.is_null() && !elsewhere).then_some(Entry {
        priority,
        function,
        key,
    })
}
