//! `paint SIZE` draws SIZE rounds of shapes, strokes, dashes and gradients, and prints a checksum of the image.

use tiny_skia::{
    BlendMode, Color, FillRule, GradientStop, LinearGradient, Paint, PathBuilder, Pixmap, Point, RadialGradient, Rect, SpreadMode,
    Stroke, StrokeDash, Transform,
};

struct Random(u32);

impl Random {
    /// A number in 0..limit with two binary places.
    fn below(&mut self, limit: u32) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((self.0 >> 8) % (limit * 4)) as f32 / 4.0
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
}

fn blob(random: &mut Random) -> Option<tiny_skia::Path> {
    let mut path = PathBuilder::new();
    let (x, y) = (random.below(640), random.below(480));
    path.move_to(x, y);
    for _ in 0..4 {
        let mut near = |c: f32| c + random.below(120) - 60.0;
        let (a, b, c, d, e, f) = (near(x), near(y), near(x), near(y), near(x), near(y));
        path.cubic_to(a, b, c, d, e, f);
        path.line_to(near(x), near(y));
        path.quad_to(near(x), near(y), x, y);
    }
    path.close();
    path.finish()
}

fn round(canvas: &mut Pixmap, random: &mut Random, turn: u32) -> Option<()> {
    let mut paint = Paint { anti_alias: !turn.is_multiple_of(5), ..Paint::default() };
    paint.set_color_rgba8(random.byte(), random.byte(), random.byte(), 128 + random.byte() / 2);
    paint.blend_mode = [BlendMode::SourceOver, BlendMode::Multiply, BlendMode::Screen, BlendMode::Overlay][turn as usize % 4];
    let rule = if turn.is_multiple_of(2) { FillRule::Winding } else { FillRule::EvenOdd };
    canvas.fill_path(&blob(random)?, &paint, rule, Transform::identity(), None);

    let stops = || vec![GradientStop::new(0.0, Color::from_rgba8(9, 40, 200, 90)), GradientStop::new(1.0, Color::from_rgba8(250, 180, 9, 160))];
    let (a, b) = (Point::from_xy(random.below(640), random.below(480)), Point::from_xy(random.below(640), random.below(480)));
    paint.shader = if turn.is_multiple_of(3) {
        RadialGradient::new(a, 0.0, b, 80.0, stops(), SpreadMode::Reflect, Transform::identity())?
    } else {
        LinearGradient::new(a, b, stops(), SpreadMode::Repeat, Transform::identity())?
    };
    let bounds = Rect::from_xywh(random.below(500), random.below(400), 40.0 + random.below(80), 40.0 + random.below(60))?;
    canvas.fill_path(&PathBuilder::from_oval(bounds)?, &paint, rule, Transform::from_rotate(random.below(20)), None);

    paint.set_color_rgba8(random.byte(), random.byte(), random.byte(), 200);
    paint.blend_mode = BlendMode::SourceOver;
    let dash = if turn.is_multiple_of(4) { StrokeDash::new(vec![7.0, 3.0], 1.0) } else { None };
    let stroke = Stroke { width: 0.5 + random.below(6), dash, ..Stroke::default() };
    canvas.stroke_path(&blob(random)?, &paint, &stroke, Transform::identity(), None);
    Some(())
}

fn main() {
    let size: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("usage: paint SIZE");
    let mut canvas = Pixmap::new(640, 480).expect("a size");
    canvas.fill(Color::WHITE);
    let mut random = Random(7);
    let drawn = (0..size * 100).filter(|turn| round(&mut canvas, &mut random, *turn).is_some()).count();
    let sum = canvas.data().iter().fold(5381u64, |a, b| a.wrapping_mul(33).wrapping_add(u64::from(*b)));
    println!("{drawn} {sum:x}");
}
