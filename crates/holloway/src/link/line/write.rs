//! Puts the words of a line back into arguments.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Carrier;

/// Puts words back on a line, lists joined again.
#[derive(Default)]
pub(super) struct Writer {
    args: Vec<OsString>,
    list: Option<(usize, OsString)>,
}

impl Writer {
    pub(super) fn extra(&mut self, paths: &[PathBuf]) {
        for path in paths {
            // Inside a list the objects stand before it: the linker sees them at the same place.
            self.word(path.clone().into_os_string(), Carrier::Plain);
        }
    }

    pub(super) fn path(&mut self, path: OsString, carrier: Carrier) {
        let comma = path.as_bytes().contains(&b',');
        self.word(
            path,
            if comma && matches!(carrier, Carrier::List(_)) {
                Carrier::Single
            } else {
                carrier
            },
        );
    }

    pub(super) fn word(&mut self, text: OsString, carrier: Carrier) {
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

    pub(super) fn finish(mut self) -> Vec<OsString> {
        self.close();
        self.args
    }
}
