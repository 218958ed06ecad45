//! The colors of a terminal, and the colors of counts: the more often code ran, the warmer its
//! color (Burger and Dybvig 1998, figure 6, colors whole expressions in this way).
//!
//! The scale is logarithmic, because counts are: on a linear scale, one hot loop would leave
//! everything else in the coldest color. A scale has seven levels between 1 and the highest count
//! that is shown. The lowest count of level k is that highest count to the power of k / 7, rounded
//! up.
//!
//! All colors have the same brightness, so that they are readable on a white and on a black
//! background: the contrast is at least 4.5 for 24-bit colors. No fact depends on a color, because
//! the counts stand beside it.

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor, Style};
use holloway_format::Count;

/// The colors that a terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Colors {
    /// No colors and no styles.
    #[default]
    None,
    /// The 16 colors that every terminal has.
    Ansi16,
    /// 256 colors.
    Ansi256,
    /// 24-bit colors.
    True,
}

/// How hot code is: a level of a [`HeatScale`], 0 is the coldest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Heat(u8);

/// Number of levels.
const LEVELS: usize = 7;

/// By level: its color on each sort of terminal.
const PALETTE: [(RgbColor, u8, AnsiColor); LEVELS] = [
    (RgbColor(0x21, 0x7a, 0xba), 31, AnsiColor::BrightBlue),
    (RgbColor(0x0b, 0x84, 0x70), 30, AnsiColor::Cyan),
    (RgbColor(0x0b, 0x89, 0x16), 28, AnsiColor::Green),
    (RgbColor(0x79, 0x79, 0x15), 100, AnsiColor::Green),
    (RgbColor(0xa5, 0x68, 0x12), 130, AnsiColor::Yellow),
    (RgbColor(0xd4, 0x42, 0x11), 166, AnsiColor::Red),
    (RgbColor(0xe6, 0x1e, 0x2f), 160, AnsiColor::BrightRed),
];

impl Heat {
    /// The color of a count of this heat. `None` without colors.
    pub fn color(self, colors: Colors) -> Option<Color> {
        let (rgb, indexed, basic) = PALETTE[usize::from(self.0)];
        match colors {
            Colors::None => None,
            Colors::Ansi16 => Some(basic.into()),
            Colors::Ansi256 => Some(Ansi256Color(indexed).into()),
            Colors::True => Some(rgb.into()),
        }
    }

    /// The style of a count of this heat.
    pub(crate) fn style(self, colors: Colors) -> Style {
        Style::new().fg_color(self.color(colors))
    }
}

/// The heat of counts that are shown together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeatScale {
    /// By level: its lowest count.
    lowest: [u64; LEVELS],
}

impl HeatScale {
    /// A scale up to the highest of some counts.
    pub fn up_to(highest: Count) -> HeatScale {
        let highest = highest.0.max(1);
        let lowest = std::array::from_fn(|level| {
            let power = (highest as f64).powf(level as f64 / LEVELS as f64);
            (power.ceil() as u64).min(highest)
        });
        HeatScale { lowest }
    }

    /// The heat of a count. `None` for 0.
    pub fn heat(&self, count: Count) -> Option<Heat> {
        let levels = self.lowest.partition_point(|&lowest| lowest <= count.0);
        levels.checked_sub(1).map(|level| Heat(level as u8))
    }

    /// The levels that have counts of their own, each with its lowest count.
    pub fn levels(&self) -> impl Iterator<Item = (Heat, Count)> {
        let levels = (0u8..).zip(self.lowest);
        let is_last = |&(level, lowest): &(u8, u64)| {
            let next = self.lowest.get(usize::from(level) + 1);
            next.is_none_or(|&next| next > lowest)
        };
        let levels = levels.filter(is_last);
        levels.map(|(level, lowest)| (Heat(level), Count(lowest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(highest: u64, count: u64) -> Option<u8> {
        let scale = HeatScale::up_to(Count(highest));
        scale.heat(Count(count)).map(|heat| heat.0)
    }

    #[test]
    fn the_scale_is_logarithmic() {
        // 10^7 has a level for each power of ten, but the last.
        let counts = [
            0, 1, 9, 10, 99, 100, 9_999, 10_000, 999_999, 1_000_000, 10_000_000,
        ];
        let levels = counts.map(|count| heat(10_000_000, count));
        let expected = [
            None,
            Some(0),
            Some(0),
            Some(1),
            Some(1),
            Some(2),
            Some(3),
            Some(4),
            Some(5),
            Some(6),
            Some(6),
        ];
        assert_eq!(levels, expected);
    }

    #[test]
    fn small_counts_use_the_ends_of_the_scale() {
        assert_eq!(heat(1, 1), Some(6));
        assert_eq!([1, 2].map(|count| heat(2, count)), [Some(0), Some(6)]);
        assert_eq!(heat(0, 0), None);
        assert_eq!(heat(u64::MAX, u64::MAX), Some(6));
    }

    #[test]
    fn levels_without_counts_are_left_out() {
        let levels = |highest| {
            let scale = HeatScale::up_to(Count(highest));
            let levels = scale.levels();
            levels
                .map(|(heat, lowest)| (heat.0, lowest.0))
                .collect::<Vec<_>>()
        };
        assert_eq!(levels(1), [(6, 1)]);
        assert_eq!(levels(2), [(0, 1), (6, 2)]);
        assert_eq!(levels(10_000_000).len(), LEVELS);
    }

    /// The contrast of two colors (WCAG 2.1, section 1.4.3).
    fn contrast(a: f64, b: f64) -> f64 {
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn luminance(color: RgbColor) -> f64 {
        let linear = |channel: u8| {
            let channel = f64::from(channel) / 255.0;
            match channel <= 0.040_45 {
                true => channel / 12.92,
                false => ((channel + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * linear(color.0) + 0.7152 * linear(color.1) + 0.0722 * linear(color.2)
    }

    /// The colors of the cube in the palette of 256.
    fn indexed(index: u8) -> RgbColor {
        let steps = [0, 95, 135, 175, 215, 255];
        let index = usize::from(index - 16);
        RgbColor(steps[index / 36], steps[index / 6 % 6], steps[index % 6])
    }

    #[test]
    fn every_color_is_readable_on_black_and_on_white() {
        for (rgb, index, _) in PALETTE {
            for (color, least) in [(rgb, 4.5), (indexed(index), 3.8)] {
                let luminance = luminance(color);
                assert!(contrast(luminance, 0.0) >= least, "{color:?} on black");
                assert!(contrast(luminance, 1.0) >= least, "{color:?} on white");
            }
        }
    }

    #[test]
    fn each_sort_of_terminal_has_its_colors() {
        let color = |colors| Heat(6).style(colors).render().to_string();
        assert_eq!(color(Colors::None), "");
        assert_eq!(color(Colors::Ansi16), "\u{1b}[91m");
        assert_eq!(color(Colors::Ansi256), "\u{1b}[38;5;160m");
        assert_eq!(color(Colors::True), "\u{1b}[38;2;230;30;47m");
    }
}
