//! Writes files of `perf record` with branch stacks, for tests on machines without such hardware.

/// In `sample_type`: address, process, time, branch stack.
const SAMPLE_TYPE: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 11;
/// Flags of the event: mappings, names, tasks, mappings with file, names at an exec, and the
/// process and time in each record.
const FLAGS: u64 = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23 | 1 << 24;
/// Length of the head of a file.
const HEAD: u64 = 104;
/// Length of an event's description.
const DESCRIPTION: usize = 128;
/// Features: the machine, and the descriptions of events.
const ARCH: u64 = 6;
const EVENT_DESCRIPTIONS: u64 = 12;

/// A file under construction.
pub struct PerfDataWriter {
    records: Vec<u8>,
    /// What the event counts: type and number. `(0, 0)` is cycles, `(0, 4)` branches, `(1, 0)` the
    /// CPU's clock.
    pub event: (u32, u64),
    /// The name of the event.
    pub name: String,
    /// The machine, as `uname -m` names it.
    pub machine: String,
    /// `branch_sample_type`: user mode, and any branch.
    pub branch_sample_type: u64,
    time: u64,
}

impl Default for PerfDataWriter {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            event: (0, 0),
            name: "cycles:u".to_owned(),
            machine: "x86_64".to_owned(),
            branch_sample_type: 1 | 1 << 3,
            time: 1000,
        }
    }
}

impl PerfDataWriter {
    /// Adds a record.
    pub fn record(&mut self, record: u32, misc: u16, body: &[u8]) -> &mut Self {
        let size = u16::try_from(body.len() + 8).unwrap();
        self.records.extend(record.to_le_bytes());
        self.records.extend(misc.to_le_bytes());
        self.records.extend(size.to_le_bytes());
        self.records.extend(body);
        self
    }

    /// The process and the time behind records that are no samples.
    fn trailer(&mut self, process: u32) -> Vec<u8> {
        self.time += 1000;
        let mut trailer = process.to_le_bytes().repeat(2);
        trailer.extend(self.time.to_le_bytes());
        trailer
    }

    /// The process begins to run a program.
    pub fn exec(&mut self, process: u32) -> &mut Self {
        let mut body = process.to_le_bytes().repeat(2);
        body.extend(*b"app\0\0\0\0\0");
        body.extend(self.trailer(process));
        self.record(3, 1 << 13, &body)
    }

    /// The process maps code of a file: `(first address, length, offset in the file)`.
    pub fn map(
        &mut self,
        process: u32,
        (start, length, offset): (u64, u64, u64),
        path: &str,
        build_id: &[u8],
    ) -> &mut Self {
        let mut body = process.to_le_bytes().repeat(2);
        for number in [start, length, offset] {
            body.extend(number.to_le_bytes());
        }
        let mut id = [0; 24];
        id[0] = build_id.len() as u8;
        id[4..4 + build_id.len()].copy_from_slice(build_id);
        body.extend(id);
        body.extend([5, 0, 0, 0, 2, 0, 0, 0]);
        body.extend(path.as_bytes());
        body.resize((body.len() / 8 + 1) * 8, 0);
        body.extend(self.trailer(process));
        let misc = match build_id.is_empty() {
            true => 2,
            false => 2 | 1 << 14,
        };
        self.record(10, misc, &body)
    }

    /// A sample at an address. `stack` has the taken branches before it, the oldest first: source,
    /// target, and whether it was mispredicted.
    pub fn sample(&mut self, process: u32, address: u64, stack: &[(u64, u64, bool)]) -> &mut Self {
        self.time += 1000;
        let mut body = address.to_le_bytes().to_vec();
        body.extend(process.to_le_bytes().repeat(2));
        body.extend(self.time.to_le_bytes());
        body.extend((stack.len() as u64).to_le_bytes());
        for &(from, to, mispredicted) in stack.iter().rev() {
            let flags = if mispredicted { 1u64 } else { 2 };
            for number in [from, to, flags] {
                body.extend(number.to_le_bytes());
            }
        }
        self.record(9, 2, &body)
    }

    /// The description of the event (`perf_event_attr`).
    fn description(&self) -> Vec<u8> {
        let mut description = vec![0; DESCRIPTION];
        let mut set = |at: usize, bytes: &[u8]| {
            description[at..at + bytes.len()].copy_from_slice(bytes);
        };
        set(0, &self.event.0.to_le_bytes());
        set(4, &(DESCRIPTION as u32).to_le_bytes());
        set(8, &self.event.1.to_le_bytes());
        set(16, &1009u64.to_le_bytes());
        set(24, &SAMPLE_TYPE.to_le_bytes());
        set(40, &(FLAGS | 1 << 10 | 1 << 34).to_le_bytes());
        set(72, &self.branch_sample_type.to_le_bytes());
        description
    }

    /// The sections of the features, in their order.
    fn features(&self) -> [(u64, Vec<u8>); 2] {
        let text = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize((bytes.len() / 4 + 1) * 4, 0);
            [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
        };
        let events = [
            &1u32.to_le_bytes()[..],
            &(DESCRIPTION as u32).to_le_bytes(),
            &self.description(),
            &0u32.to_le_bytes(),
            &text(&self.name),
        ];
        [
            (ARCH, text(&self.machine)),
            (EVENT_DESCRIPTIONS, events.concat()),
        ]
    }

    /// The file.
    pub fn finish(&self) -> Vec<u8> {
        let features = self.features();
        let mut bits = [0u8; 32];
        for (feature, _) in &features {
            bits[*feature as usize / 8] |= 1 << (feature % 8);
        }
        // The description is followed by an empty list of ids.
        let description = DESCRIPTION as u64 + 16;
        let records = HEAD + description;
        let mut file = b"PERFILE2".to_vec();
        for number in [
            HEAD,
            description,
            HEAD,
            description,
            records,
            self.records.len() as u64,
            0,
            0,
        ] {
            file.extend(number.to_le_bytes());
        }
        file.extend(bits);
        file.extend(self.description());
        file.extend([0; 16]);
        file.extend(&self.records);
        let mut at = file.len() as u64 + 16 * features.len() as u64;
        for (_, section) in &features {
            file.extend(at.to_le_bytes());
            file.extend((section.len() as u64).to_le_bytes());
            at += section.len() as u64;
        }
        for (_, section) in &features {
            file.extend(section);
        }
        file
    }

    /// The file in pipe mode.
    pub fn finish_pipe(&self) -> Vec<u8> {
        let mut head = Self::default();
        head.record(64, 0, &self.description());
        for (feature, section) in self.features() {
            let mut body = feature.to_le_bytes().to_vec();
            body.extend(section);
            body.resize(body.len().div_ceil(8) * 8, 0);
            head.record(80, 0, &body);
        }
        let mut file = b"PERFILE2".to_vec();
        file.extend(16u64.to_le_bytes());
        file.extend(head.records);
        file.extend(&self.records);
        file
    }
}
