//! The tables of the slides on efficient path profiling (Ball, Larus 1996), program by program. Our
//! pages show their averages next to ours.
//!
//! The rows are in the order of the slides: eight integer programs of SPEC95, and then ten
//! floating-point programs. The averages are copied from the slides. They are arithmetic means of
//! the rows, as the tests check. The average of quotients is a mean, too, not a quotient of
//! averages. Two misprints of the slides are corrected: the average path increments of the integer
//! programs (printed as 22251.1, but 2251.1 according to the rows), and the common paths of wave5
//! ("146.wave | 5821").

/// A table of the slides: a row for each program, and the averages.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    rows: [(&'static str, [f64; COLUMNS]); 18],
    /// The printed averages of each of [`Programs::EACH`]; `None` if the slides print none.
    averages: Option<[[f64; COLUMNS]; 3]>,
}

/// A group of programs with an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Programs {
    /// The integer programs.
    Integer,
    /// The floating-point programs.
    FloatingPoint,
    /// All programs.
    All,
}

impl Programs {
    /// All groups, in the order of the slides.
    pub(crate) const EACH: [Self; 3] = [Self::Integer, Self::FloatingPoint, Self::All];

    /// The name of the group in our tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Integer => "SPEC95 integer, 1996",
            Self::FloatingPoint => "SPEC95 floating point, 1996",
            Self::All => "SPEC95, 1996",
        }
    }
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// The printed average of a column, or the mean of the rows if none is printed.
    pub(crate) fn average(&self, programs: Programs, column: usize) -> f64 {
        match &self.averages {
            Some(averages) => averages[programs as usize][column],
            None => self.mean(programs, column),
        }
    }

    fn mean(&self, programs: Programs, column: usize) -> f64 {
        let rows = match programs {
            Programs::Integer => &self.rows[..8],
            Programs::FloatingPoint => &self.rows[8..],
            Programs::All => &self.rows[..],
        };
        rows.iter().map(|row| row.1[column]).sum::<f64>() / rows.len() as f64
    }
}

/// Columns of [`OVERHEADS`].
pub(crate) mod overhead {
    /// Overhead of PP, in percent.
    pub(crate) const PATHS: usize = 0;
    /// Overhead of QPT2, in percent.
    pub(crate) const EDGES: usize = 1;
    /// The overhead of PP divided by the overhead of QPT2, as printed.
    pub(crate) const QUOTIENT: usize = 2;
    /// Path increments in millions. This is also the number of paths that ran.
    pub(crate) const MILLION: usize = 3;
    /// Edge increments, as a multiple of the path increments.
    pub(crate) const EDGE_INCREMENTS: usize = 4;
    /// Share of path increments in hash tables, in percent.
    pub(crate) const HASHED: usize = 5;
    /// Instructions per path increment.
    pub(crate) const LENGTH: usize = 6;
}

/// The table "PP overhead", without the base times.
#[rustfmt::skip]
pub(crate) static OVERHEADS: Table<7> = Table {
    rows: [
        ("go", [53.4, 24.1, 2.2, 1002.4, 1.5, 27.7, 33.2]),
        ("m88ksim", [35.6, 18.7, 1.9, 4824.9, 1.2, 3.9, 16.2]),
        ("gcc", [96.9, 52.8, 1.8, 9.4, 1.7, 16.8, 15.1]),
        ("compress", [19.4, 21.9, 0.9, 3015.7, 1.5, 0.0, 16.6]),
        ("li", [25.4, 26.7, 1.0, 3282.4, 1.4, 1.2, 16.8]),
        ("ijpeg", [17.4, 16.3, 1.1, 1164.9, 1.1, 1.2, 31.0]),
        ("perl", [72.9, 51.5, 1.4, 1133.0, 1.9, 23.4, 22.2]),
        ("vortex", [37.7, 34.1, 1.1, 3576.3, 1.5, 23.7, 20.3]),
        ("tomcatv", [19.9, 2.8, 7.1, 574.6, 1.1, 95.8, 93.0]),
        ("swim", [8.4, 0.6, 14.5, 163.4, 1.0, 0.2, 162.9]),
        ("su2cor", [10.1, 5.8, 1.7, 558.1, 1.2, 21.5, 92.8]),
        ("hydro2d", [37.7, 5.8, 6.5, 1690.7, 1.7, 77.8, 43.1]),
        ("mgrid", [6.3, 3.2, 2.0, 1035.2, 1.0, 7.7, 133.5]),
        ("applu", [71.0, 12.0, 5.9, 2111.4, 1.1, 99.1, 44.8]),
        ("turb3d", [5.5, 7.4, 0.7, 2952.8, 1.1, 0.0, 56.5]),
        ("apsi", [7.7, 1.8, 4.2, 599.3, 1.1, 3.5, 84.0]),
        ("fpppp", [14.6, -2.6, -5.6, 395.0, 1.8, 42.5, 636.0]),
        ("wave5", [16.9, 6.1, 2.8, 737.3, 1.3, 65.0, 74.1]),
    ],
    averages: Some([
        [44.8, 30.8, 1.4, 2251.1, 1.5, 12.2, 21.4],
        [19.8, 4.3, 4.0, 1081.8, 1.2, 41.3, 142.1],
        [30.9, 16.1, 2.8, 1601.5, 1.3, 28.4, 88.4],
    ]),
};

/// Columns of [`PREDICTIONS`].
pub(crate) mod prediction {
    /// Different paths that ran.
    pub(crate) const PATHS: usize = 0;
    /// Edges and instructions of the longest path.
    pub(crate) const LONGEST: [usize; 2] = [1, 2];
    /// Edges and instructions of the average path that ran.
    pub(crate) const MEAN: [usize; 2] = [3, 4];
    /// Share of the paths that are predicted correctly from edges, in percent.
    pub(crate) const CORRECT: usize = 5;
    /// Edges and instructions of the longest path that is predicted correctly.
    pub(crate) const PREDICTED_LONGEST: [usize; 2] = [6, 7];
    /// Edges and instructions of the average path that is predicted correctly.
    pub(crate) const PREDICTED_MEAN: [usize; 2] = [8, 9];
    /// Routines that ran.
    pub(crate) const ROUTINES: usize = 10;
    /// The number of different paths in the routine with the most paths, and in the average
    /// routine.
    pub(crate) const OF_A_ROUTINE: [usize; 2] = [11, 12];
}

/// The table "Path profiling versus edge profiling".
#[rustfmt::skip]
pub(crate) static PREDICTIONS: Table<13> = Table {
    rows: [
        ("go", [24_414.0, 105.0, 314.0, 10.9, 33.2, 4.3, 84.0, 252.0, 5.0, 19.3, 407.0, 1574.0, 60.0]),
        ("m88ksim", [1113.0, 138.0, 360.0, 5.8, 16.2, 29.8, 138.0, 360.0, 4.3, 9.1, 220.0, 70.0, 5.1]),
        ("gcc", [9319.0, 711.0, 1074.0, 7.4, 15.1, 20.8, 711.0, 1074.0, 4.6, 10.5, 1027.0, 163.0, 9.1]),
        ("compress", [249.0, 80.0, 146.0, 6.5, 16.7, 43.0, 80.0, 146.0, 4.6, 8.8, 69.0, 34.0, 3.6]),
        ("li", [770.0, 153.0, 252.0, 9.0, 16.8, 38.1, 62.0, 109.0, 7.0, 14.6, 216.0, 64.0, 3.6]),
        ("ijpeg", [1199.0, 139.0, 416.0, 7.0, 31.0, 36.4, 139.0, 202.0, 5.1, 22.2, 252.0, 194.0, 4.8]),
        ("perl", [1421.0, 123.0, 305.0, 10.7, 22.2, 24.5, 115.0, 207.0, 7.3, 16.7, 233.0, 125.0, 6.1]),
        ("vortex", [2223.0, 584.0, 841.0, 8.9, 20.3, 39.5, 584.0, 841.0, 8.5, 13.6, 627.0, 65.0, 3.5]),
        ("tomcatv", [421.0, 83.0, 326.0, 4.1, 93.0, 49.6, 82.0, 201.0, 3.9, 25.2, 146.0, 56.0, 2.9]),
        ("swim", [378.0, 106.0, 310.0, 2.3, 162.9, 57.1, 106.0, 310.0, 2.2, 57.6, 143.0, 25.0, 2.6]),
        ("su2cor", [905.0, 136.0, 954.0, 6.7, 92.8, 45.9, 73.0, 781.0, 5.5, 59.3, 209.0, 127.0, 4.3]),
        ("hydro2d", [1456.0, 344.0, 488.0, 6.5, 43.1, 33.2, 344.0, 436.0, 5.8, 36.2, 227.0, 434.0, 6.4]),
        ("mgrid", [589.0, 83.0, 320.0, 2.3, 133.5, 44.8, 78.0, 320.0, 2.1, 15.8, 160.0, 73.0, 3.7]),
        ("applu", [619.0, 240.0, 3557.0, 3.7, 44.8, 54.1, 240.0, 3557.0, 2.4, 26.6, 144.0, 82.0, 4.3]),
        ("turb3d", [674.0, 162.0, 692.0, 7.1, 56.5, 46.6, 162.0, 692.0, 5.1, 28.2, 189.0, 39.0, 3.6]),
        ("apsi", [1064.0, 712.0, 1196.0, 6.1, 84.0, 40.8, 136.0, 734.0, 4.6, 69.0, 242.0, 54.0, 4.4]),
        ("fpppp", [821.0, 85.0, 11_455.0, 14.9, 636.0, 25.8, 76.0, 11_455.0, 9.0, 122.6, 143.0, 322.0, 5.7]),
        ("wave5", [896.0, 90.0, 1180.0, 5.2, 74.1, 47.8, 90.0, 1180.0, 4.8, 49.5, 212.0, 69.0, 4.2]),
    ],
    averages: Some([
        [5088.0, 254.0, 464.0, 8.3, 21.4, 29.5, 239.0, 399.0, 5.8, 14.4, 381.0, 286.0, 12.0],
        [782.0, 204.0, 2048.0, 5.9, 142.1, 44.6, 139.0, 1967.0, 4.5, 49.0, 182.0, 128.0, 4.2],
        [2696.0, 226.0, 1344.0, 6.9, 88.4, 37.9, 183.0, 1270.0, 5.1, 33.6, 270.0, 198.0, 7.7],
    ]),
};

/// Columns of [`COMMON`].
pub(crate) mod common {
    /// Different paths that both runs executed.
    pub(crate) const PATHS: usize = 0;
    /// The share of common paths in all paths that either run executed, in percent.
    pub(crate) const STATIC: usize = 1;
    /// The share of common paths in the path executions with the reference input, in percent.
    pub(crate) const DYNAMIC: usize = 2;
    /// Instructions on common paths with the reference input.
    pub(crate) const INSTRUCTIONS: usize = 3;
    /// The share of these instructions in all instructions with the reference input, in percent.
    pub(crate) const DYNAMIC_INSTRUCTIONS: usize = 4;
}

/// The table "ref versus train datasets".
#[rustfmt::skip]
pub(crate) static COMMON: Table<5> = Table {
    rows: [
        ("go", [13_670.0, 52.8, 99.5, 32_823_357_655.0, 98.6]),
        ("m88ksim", [800.0, 71.1, 97.1, 68_794_935_104.0, 93.3]),
        ("gcc", [9058.0, 63.5, 94.6, 140_747_413.0, 88.9]),
        ("compress", [201.0, 78.2, 99.2, 49_206_874_856.0, 98.0]),
        ("li", [522.0, 67.8, 87.4, 48_285_966_561.0, 87.7]),
        ("ijpeg", [1099.0, 85.3, 99.9, 36_098_785_257.0, 100.0]),
        ("perl", [687.0, 41.8, 71.9, 16_041_579_783.0, 63.8]),
        ("vortex", [2160.0, 96.0, 100.0, 72_589_443_060.0, 100.0]),
        ("tomcatv", [418.0, 90.9, 100.0, 53_422_202_701.0, 100.0]),
        ("swim", [373.0, 98.2, 100.0, 26_607_743_709.0, 100.0]),
        ("su2cor", [880.0, 95.5, 100.0, 51_766_673_091.0, 100.0]),
        ("hydro2d", [1336.0, 90.1, 100.0, 72_892_099_182.0, 100.0]),
        ("mgrid", [577.0, 97.3, 100.0, 138_157_253_535.0, 100.0]),
        ("applu", [582.0, 87.5, 100.0, 94_622_106_074.0, 100.0]),
        ("turb3d", [651.0, 94.5, 100.0, 166_724_577_396.0, 100.0]),
        ("apsi", [992.0, 91.0, 91.2, 37_648_860_455.0, 74.3]),
        ("fpppp", [764.0, 91.9, 99.9, 250_229_811_735.0, 99.6]),
        ("wave5", [821.0, 88.5, 98.8, 52_996_842_799.0, 96.9]),
    ],
    averages: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the printed averages equal the means of the rows, except for rounding.
    fn check<const COLUMNS: usize>(table: &Table<COLUMNS>, decimals: [i32; COLUMNS]) {
        for programs in Programs::EACH {
            for (column, places) in decimals.into_iter().enumerate() {
                let (printed, mean) = (
                    table.average(programs, column),
                    table.mean(programs, column),
                );
                // Rounding may change the average by half a unit, and the rows by half a unit.
                let unit = 0.1f64.powi(places);
                assert!(
                    (printed - mean).abs() <= unit,
                    "{programs:?}, column {column}: {printed}, and {mean} by the rows"
                );
            }
        }
    }

    #[test]
    fn slides_pp_overhead() {
        check(&OVERHEADS, [1; 7]);
        let quotients =
            Programs::EACH.map(|programs| OVERHEADS.average(programs, overhead::QUOTIENT));
        assert_eq!(quotients, [1.4, 4.0, 2.8]);
    }

    /// The average of these quotients is no quotient of averages. Quotients of averages would be
    /// 1.5, 4.6, and 1.9.
    #[test]
    fn slides_pp_overhead_quotients_are_of_programs() {
        for (name, row) in &OVERHEADS.rows {
            let quotient = row[overhead::PATHS] / row[overhead::EDGES];
            let printed = row[overhead::QUOTIENT];
            // The largest change by rounding both overheads.
            let slack =
                (0.05 * (1.0 + quotient.abs())) / (row[overhead::EDGES].abs() - 0.05) + 0.05;
            assert!(
                (quotient - printed).abs() <= slack,
                "{name}: {quotient}, printed {printed}"
            );
        }
    }

    #[test]
    fn slides_path_profiling_versus_edge_profiling() {
        check(&PREDICTIONS, [0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1]);
        // The instructions of the average path equal the instructions per path increment of the
        // other table.
        for ((name, overheads), (other_name, predictions)) in
            OVERHEADS.rows.iter().zip(&PREDICTIONS.rows)
        {
            let lengths = [
                overheads[overhead::LENGTH],
                predictions[prediction::MEAN[1]],
            ];
            assert_eq!(name, other_name);
            assert!(
                (lengths[0] - lengths[1]).abs() < 0.11,
                "{name}: {lengths:?}"
            );
        }
    }

    /// A static share is relative to the paths that either run executed. These are at least as many
    /// as the paths of the reference run.
    #[test]
    fn slides_ref_versus_train() {
        for ((name, common), (other_name, predictions)) in COMMON.rows.iter().zip(&PREDICTIONS.rows)
        {
            let either = common[common::PATHS] / (common[common::STATIC] - 0.05) * 100.0;
            assert_eq!(name, other_name);
            assert!(either >= predictions[prediction::PATHS], "{name}: {either}");
        }
        let mean = COMMON.average(Programs::All, common::STATIC);
        assert!((mean - 82.3).abs() < 0.05, "{mean}");
    }
}
