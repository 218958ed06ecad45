//! Numbers, names, and dates without an allocator, against `std`.

use super::Text;

fn with<const N: usize>(fill: impl FnOnce(&mut Text<N>)) -> String {
    let mut text = Text::new();
    fill(&mut text);
    String::from_utf8_lossy(text.as_bytes()).into_owned()
}

#[test]
fn decimals() {
    for value in [0, 1, 9, 10, 99, 100, 4_294_967_295, u64::MAX] {
        assert_eq!(
            with::<64>(|text| text.push_decimal(value, 1)),
            value.to_string()
        );
        assert_eq!(
            with::<64>(|text| text.push_decimal(value, 4)),
            format!("{value:04}")
        );
    }
}

#[test]
fn times() {
    // date -u -d @… +%Y%m%d-%H%M%S
    let cases = [
        (0, "19700101-000000"),
        (951_782_399, "20000228-235959"),
        (951_782_400, "20000229-000000"),
        (951_868_800, "20000301-000000"),
        (1_709_164_800, "20240229-000000"),
        (1_735_689_599, "20241231-235959"),
        (1_735_689_600, "20250101-000000"),
        (4_107_542_400, "21000301-000000"),
    ];
    for (seconds, time) in cases {
        assert_eq!(with::<64>(|text| super::push_time(text, seconds)), time);
    }
}

#[test]
fn what_does_not_fit_is_left_out() {
    let mut text = Text::<5>::new();
    text.push_all(b"1234");
    assert!(text.is_whole());
    text.push_all(b"56");
    assert!(!text.is_whole());
    assert_eq!(text.as_bytes(), b"1234");
    text.cover(2);
    // SAFETY: a `Text` is NUL terminated.
    let before = unsafe { std::ffi::CStr::from_ptr(text.as_ptr().cast()) };
    assert_eq!(before, c"12");
    text.uncover();
    text.drop_front(1);
    assert_eq!(text.as_bytes(), b"234");
}

#[test]
fn pieces() {
    assert_eq!(
        super::number(b"55d0c2a00000-5", 16),
        (0x55d0_c2a0_0000, &b"-5"[..])
    );
    assert_eq!(super::number(b"x", 10), (0, &b"x"[..]));
    assert_eq!(super::file_name(b"/a/b"), b"b");
    assert_eq!(super::file_name(b"b"), b"b");
    assert_eq!(super::until_nul(b"ab\0c"), b"ab");
    assert_eq!(super::until_nul(b"ab"), b"ab");
}

#[test]
fn auxiliary_vectors() {
    let vector: Vec<u8> = [6, 4096, 23, 1, 0, 0u64]
        .into_iter()
        .flat_map(u64::to_ne_bytes)
        .collect();
    assert_eq!(super::aux_value(&vector, 23), Some(1));
    assert_eq!(super::aux_value(&vector, 6), Some(4096));
    assert_eq!(super::aux_value(&vector[..31], 23), None);
    let vector = std::fs::read("/proc/self/auxv").expect("this process's");
    assert_eq!(super::aux_value(&vector, 23), Some(0), "AT_SECURE");
    assert!(
        super::aux_value(&vector, 6).is_some_and(u64::is_power_of_two),
        "AT_PAGESZ"
    );
}
