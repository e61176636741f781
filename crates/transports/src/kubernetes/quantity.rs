//! Sizes as Kubernetes writes them (`4Gi`, `500M`, `1e9`).

/// Converts a size to bytes, rounded up; `None` if it is no size.
pub(crate) fn bytes(text: &str) -> Option<u128> {
    const UNITS: [(&str, u128); 12] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("Ei", 1 << 60),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("E", 1_000_000_000_000_000_000),
    ];
    if let Some(milli) = text.strip_suffix('m') {
        return Some(milli.parse::<u128>().ok()?.div_ceil(1000));
    }
    let of = |(unit, each): &(&str, u128)| Some((text.strip_suffix(unit)?, *each));
    let (number, each) = UNITS.iter().find_map(of).unwrap_or((text, 1));
    let (number, exponent) = match number.split_once(['e', 'E']).filter(|_| each == 1) {
        Some((number, exponent)) => (number, exponent.parse::<u32>().ok()?),
        None => (number, 0),
    };
    let each = each.checked_mul(10_u128.checked_pow(exponent)?)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{whole}{part}").parse().ok()?;
    let parts = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some(digits.checked_mul(each)?.div_ceil(parts))
}

/// The larger of two; one that is no size counts for nothing.
pub(crate) fn larger<'t>(one: Option<&'t str>, other: Option<&'t str>) -> Option<&'t str> {
    let size = |text: Option<&str>| text.and_then(bytes);
    if size(one) >= size(other) { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::{bytes, larger};

    #[test]
    fn sizes_are_what_they_say() {
        for (text, size) in [
            ("4Gi", Some(4 << 30)),
            ("1.5Ki", Some(1536)),
            ("500M", Some(500_000_000)),
            ("1e3", Some(1000)),
            ("2E", Some(2_000_000_000_000_000_000)),
            ("128974848", Some(128_974_848)),
            ("1500m", Some(2)),
            ("", None),
            ("-1", None),
            ("4Xi", None),
            ("1e99", None),
        ] {
            assert_eq!(bytes(text), size, "{text}");
        }
        assert_eq!(larger(Some("1Gi"), Some("1025Mi")), Some("1025Mi"));
        assert_eq!(larger(Some("1G"), Some("1Gi")), Some("1Gi"));
        assert_eq!(larger(None, Some("1")), Some("1"));
        assert_eq!(larger(Some("1"), Some("rubbish")), Some("1"));
    }
}
