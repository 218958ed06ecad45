//! Writes the words of a parsed line as arguments again.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::model::{Carrier, Line};

/// Objects to add to a line: the image object and the runtime object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtraObjects<'a> {
    /// The objects.
    pub(crate) paths: &'a [PathBuf],
    /// The index of the word before which the objects are inserted. If the line has fewer words,
    /// the objects are added at its end.
    pub(crate) before_word: usize,
}

impl ExtraObjects<'_> {
    /// No object.
    pub(crate) const NONE: Self = Self {
        paths: &[],
        before_word: 0,
    };
}

impl Line {
    /// Returns the arguments of the real linker. `replacement(i)` is the file to link instead of
    /// word `i`, if any.
    pub(crate) fn write(
        &self,
        replacement: &dyn Fn(usize) -> Option<PathBuf>,
        objects: &ExtraObjects<'_>,
    ) -> Vec<OsString> {
        let mut out = Writer::default();
        for (index, word) in self.words.iter().enumerate() {
            if index == objects.before_word {
                out.objects(objects.paths);
            }
            match replacement(index) {
                Some(path) => out.path(path.into_os_string(), word.carrier),
                None => out.word(word.text.clone(), word.carrier),
            }
        }
        if objects.before_word >= self.words.len() {
            out.objects(objects.paths);
        }
        out.finish()
    }
}

/// Collects arguments, and joins the words of a `-Wl,` list again.
#[derive(Default)]
struct Writer {
    args: Vec<OsString>,
    /// The `-Wl,` list that is being written, with its number.
    list: Option<(usize, OsString)>,
}

impl Writer {
    fn objects(&mut self, paths: &[PathBuf]) {
        for path in paths {
            // A plain word ends an open `-Wl,` list. The next word of the list begins a new one.
            self.word(path.clone().into_os_string(), Carrier::Plain);
        }
    }

    fn path(&mut self, path: OsString, carrier: Carrier) {
        let has_comma = path.as_bytes().contains(&b',');
        self.word(
            path,
            if has_comma && matches!(carrier, Carrier::List(_)) {
                Carrier::Single
            } else {
                carrier
            },
        );
    }

    fn word(&mut self, text: OsString, carrier: Carrier) {
        if let Carrier::List(number) = carrier {
            let open = self.list.take_if(|(open, _)| *open == number);
            self.close();
            let (_, mut list) = open.unwrap_or_else(|| (number, "-Wl".into()));
            list.push(",");
            list.push(text);
            self.list = Some((number, list));
            return;
        }
        self.close();
        if carrier == Carrier::Single {
            self.args.push("-Xlinker".into());
        }
        self.args.push(text);
    }

    fn close(&mut self) {
        self.args.extend(self.list.take().map(|(_, list)| list));
    }

    fn finish(mut self) -> Vec<OsString> {
        self.close();
        self.args
    }
}
