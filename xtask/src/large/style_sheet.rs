//! Generates a style sheet that is the same on every machine: rules with many properties, nested
//! rules, media queries, animations, and colors that old browsers do not know.

use holloway_tests::corpus::Random;

const TAGS: [&str; 12] = [
    "a", "button", "div", "h1", "h2", "img", "li", "nav", "p", "section", "span", "table",
];
const STATES: [&str; 8] = [
    "",
    ":hover",
    ":focus-visible",
    ":not(.off, :disabled)",
    ":is(h1, h2) > em",
    "::before",
    ":nth-child(2n + 1)",
    "[data-state=\"open\" i]",
];
const MEDIA: [&str; 5] = [
    "(width >= 40em)",
    "(400px <= width < 1000px)",
    "screen and (prefers-color-scheme: dark)",
    "print",
    "(min-resolution: 2dppx) and (hover)",
];
const UNITS: [&str; 6] = ["px", "em", "rem", "%", "vw", "ch"];
const WORDS: [&str; 8] = [
    "main", "card", "item", "title", "body", "menu", "icon", "footer",
];

/// Generates a style sheet of about `bytes` bytes.
pub(super) fn style_sheet(seed: u64, bytes: usize) -> String {
    let mut writer = Writer {
        random: Random(seed),
        text: "@charset \"UTF-8\";\n".to_owned(),
    };
    while writer.text.len() < bytes {
        match writer.random.below(12) {
            0 => writer.media(),
            1 => writer.animation(),
            2 => writer.font(),
            _ => writer.rule(2),
        }
    }
    writer.text
}

struct Writer {
    random: Random,
    text: String,
}

impl Writer {
    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.random.below(words.len() as u64) as usize]
    }

    fn number(&mut self, limit: u64) -> String {
        match self.random.below(3) {
            0 => format!("0.{}", 1 + self.random.below(999)),
            1 => format!("{}.50", self.random.below(limit)),
            _ => self.random.below(limit).to_string(),
        }
    }

    fn length(&mut self) -> String {
        match self.random.below(6) {
            0 => "0".to_owned(),
            1 => format!("calc({} + {})", self.plain_length(), self.plain_length()),
            2 => format!("max({}, {})", self.plain_length(), self.plain_length()),
            _ => self.plain_length(),
        }
    }

    fn plain_length(&mut self) -> String {
        let number = self.number(90);
        number + self.pick(&UNITS)
    }

    fn color(&mut self) -> String {
        let [a, b, c] = [256, 256, 256].map(|limit| self.random.below(limit));
        match self.random.below(8) {
            0 => format!("#{a:02x}{b:02x}{c:02x}"),
            1 => format!("rgb({a} {b} {c} / {}%)", c % 101),
            2 => format!("hsl({}deg, {}%, {}%)", a, b % 101, c % 101),
            3 => format!("oklch({}% 0.{} {a})", b % 101, c % 40),
            4 => format!("lab({}% {} -{})", a % 101, b % 100, c % 100),
            5 => format!(
                "color-mix(in srgb, red {}%, #{a:02x}{b:02x}{c:02x})",
                c % 101
            ),
            6 => self
                .pick(&["rebeccapurple", "transparent", "navy"])
                .to_owned(),
            _ => format!("rgba({a}, {b}, {c}, .{})", 1 + c % 9),
        }
    }

    fn selector(&mut self) -> String {
        let mut text = self.pick(&TAGS).to_owned();
        for _ in 0..self.random.below(3) {
            text += &format!(".{}-{}", self.pick(&WORDS), self.random.below(40));
        }
        let state = self.pick(&STATES);
        if self.random.below(4) == 0 {
            text = format!("#{} > {text}", self.pick(&WORDS));
        }
        text + state
    }

    fn rule(&mut self, depth: u64) {
        let selectors: Vec<String> = (0..1 + self.random.below(3))
            .map(|_| self.selector())
            .collect();
        self.text += &selectors.join(", ");
        self.text += " {\n";
        for _ in 0..2 + self.random.below(9) {
            let declaration = self.declaration();
            self.text += &format!("  {declaration};\n");
        }
        if depth > 0 && self.random.below(4) == 0 {
            let nested = self.pick(&["&", "& >", "&:active ,", "@media (width < 30em) {"]);
            self.text += nested;
            self.text.push(' ');
            if nested.ends_with(',') {
                self.text += "& ";
            }
            if nested == "&" {
                self.text += ".inner ";
            }
            self.rule(depth - 1);
            if nested.ends_with('{') {
                self.text += "}\n";
            }
        }
        self.text += "}\n";
    }

    fn declaration(&mut self) -> String {
        let kind = self.random.below(20);
        let [one, two] = [self.length(), self.length()];
        let [first, second] = [self.color(), self.color()];
        let number = self.number(4);
        let word = self.pick(&WORDS);
        match kind {
            0 => format!("margin: {one} {two}"),
            1 => format!("padding-left: {one}; padding-right: {two}"),
            2 => format!("color: {first}"),
            3 => {
                format!("background: url(img/{word}.png) no-repeat center / {one} {two}, {second}")
            }
            4 => format!("background-image: linear-gradient({number}turn, {first}, {second} 70%)"),
            5 => format!("border: {number}px solid {first}"),
            6 => format!("border-radius: {one} / {two}"),
            7 => format!("transform: translate({one}, {two}) rotate({number}rad) scale({number})"),
            8 => format!("transition: opacity {number}s ease-in-out, color .2s {number}s"),
            9 => format!("font: italic 700 {one}/1.5 \"{word} Sans\", Arial, sans-serif"),
            10 => format!("grid-template-columns: [{word}] minmax({one}, 1fr) repeat(2, {two})"),
            11 => format!("box-shadow: {one} {two} {number}px {first}, inset 0 0 3px {second}"),
            12 => format!("filter: blur({number}px) drop-shadow({one} 1px {first})"),
            13 => format!("--{word}: {first}; fill: var(--{word}, {second})"),
            14 => format!("width: {one}; height: {two} !important"),
            15 => format!("display: flex; flex: {number} 1 {one}"),
            16 => format!("animation: {word} {number}s cubic-bezier(.4, 0, .2, 1) infinite"),
            17 => format!("inset: {one} auto {two} 0; position: sticky"),
            18 => format!("clip-path: polygon(0 0, {one} 0, {one} {two})"),
            _ => format!("text-decoration: underline dotted {first} {number}px"),
        }
    }

    fn media(&mut self) {
        let query = self.pick(&MEDIA);
        self.text += &format!("@media {query} {{\n");
        for _ in 0..1 + self.random.below(5) {
            self.rule(1);
        }
        self.text += "}\n";
    }

    fn animation(&mut self) {
        let word = self.pick(&WORDS);
        let [from, to] = [self.declaration(), self.declaration()];
        self.text += &format!("@keyframes {word} {{ from {{ {from} }} 60% {{ {to} }} }}\n");
    }

    fn font(&mut self) {
        let word = self.pick(&WORDS);
        self.text += &format!(
            "@font-face {{ font-family: {word}; src: url({word}.woff2) format(\"woff2\"); }}\n"
        );
    }
}
