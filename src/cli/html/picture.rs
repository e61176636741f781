//! Images before and after. Only bytes of four formats whose head names a size that a browser can take are shown, as a part of the page;
//! vector images, which can hold more than a picture, are shown as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::lines::Room;
use crate::terminal::size;

/// Maximum bytes of an image.
const LARGEST: usize = 2 << 20;

/// Maximum pixels of an image: a small file can name a size that fills the memory.
const PIXELS: u64 = 24_000_000;

/// An image, as its head describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Picture {
    media: &'static str,
    width: u32,
    height: u32,
}

/// Renders both sides of an image; `None` if neither side is one.
pub(super) fn pictures<'a>(
    sides: impl Iterator<Item = (&'static str, &'a Vec<u8>)>,
    room: &mut Room,
) -> Option<Markup> {
    let sides: Vec<_> = sides
        .map(|(side, bytes)| (side, bytes, Picture::of(bytes)))
        .collect();
    if sides.iter().all(|(_, _, picture)| picture.is_none()) {
        return None;
    }
    let figures: Vec<Markup> = sides
        .into_iter()
        .map(|(side, bytes, picture)| figure(side, bytes, picture, room))
        .collect();
    Some(html! { div class="pictures" { @for figure in &figures { (figure) } } })
}

fn figure(side: &str, bytes: &[u8], picture: Option<Picture>, room: &mut Room) -> Markup {
    let amount = size::bytes(bytes.len() as u64);
    let Some(picture) = picture else {
        return html! { figure { figcaption { (side) ": no image, " (amount) } } };
    };
    let Picture { media, width, height } = picture;
    let words = format!("{side}: {width} × {height}, {amount}");
    let fits = u64::from(width) * u64::from(height) <= PIXELS && bytes.len() <= LARGEST.min(room.pictures);
    if !fits {
        return html! { figure { figcaption { (words) ", too large to show" } } };
    }
    room.pictures -= bytes.len();
    room.has_pictures = true;
    html! {
        figure {
            figcaption { (words) }
            img src={ "data:" (media) ";base64," (STANDARD.encode(bytes)) } alt=(side) width=(width) height=(height)
                decoding="async";
        }
    }
}

impl Picture {
    /// Reads the head of an image; `None` if it is of no known format.
    fn of(bytes: &[u8]) -> Option<Self> {
        let found = png(bytes)
            .or_else(|| gif(bytes))
            .or_else(|| webp(bytes))
            .or_else(|| jpeg(bytes))?;
        (found.width > 0 && found.height > 0).then_some(found)
    }

    fn new(media: &'static str, width: impl Into<u32>, height: impl Into<u32>) -> Self {
        Self {
            media,
            width: width.into(),
            height: height.into(),
        }
    }
}

/// Returns so many bytes from a place.
fn at<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    bytes.get(start..start.checked_add(N)?)?.try_into().ok()
}

fn png(bytes: &[u8]) -> Option<Picture> {
    bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
    let number = |start| at(bytes, start).map(u32::from_be_bytes);
    Some(Picture::new("image/png", number(16)?, number(20)?))
}

fn gif(bytes: &[u8]) -> Option<Picture> {
    bytes
        .strip_prefix(b"GIF87a")
        .or_else(|| bytes.strip_prefix(b"GIF89a"))?;
    let number = |start| at(bytes, start).map(u16::from_le_bytes);
    Some(Picture::new("image/gif", number(6)?, number(8)?))
}

fn webp(bytes: &[u8]) -> Option<Picture> {
    bytes.strip_prefix(b"RIFF")?;
    let three = |start| at(bytes, start).map(|[a, b, c]: [u8; 3]| u32::from_le_bytes([a, b, c, 0]));
    let (width, height) = match &at::<8>(bytes, 8)? {
        // The size less one, of three bytes each.
        b"WEBPVP8X" => (three(24)? + 1, three(27)? + 1),
        b"WEBPVP8L" => {
            let packed = u32::from_le_bytes(at(bytes, 21)?);
            ((packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1)
        }
        b"WEBPVP8 " => {
            let number = |start| at(bytes, start).map(u16::from_le_bytes);
            (u32::from(number(26)? & 0x3fff), u32::from(number(28)? & 0x3fff))
        }
        _ => return None,
    };
    Some(Picture::new("image/webp", width, height))
}

/// Reads the size from the first frame: segments before it are skipped by their lengths.
fn jpeg(bytes: &[u8]) -> Option<Picture> {
    bytes.strip_prefix(b"\xff\xd8\xff")?;
    let number = |start| at(bytes, start).map(u16::from_be_bytes);
    let mut start = 2_usize;
    loop {
        let [mark, kind] = at(bytes, start)?;
        if mark != 0xff {
            return None;
        }
        match kind {
            // Bytes between segments.
            0xff => start += 1,
            0xc0..=0xcf if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                return Some(Picture::new("image/jpeg", number(start + 7)?, number(start + 5)?));
            }
            _ => start += 2 + usize::from(number(start + 2)?),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Heads of images, also of damaged ones.

    use super::Picture;

    #[test]
    fn the_head_of_an_image_names_its_format_and_size() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\0\x02".to_vec();
        let gif = b"GIF89a\x03\0\x04\0".to_vec();
        let jpeg = b"\xff\xd8\xff\xe0\0\x04JF\xff\xff\xc2\0\x11\x08\0\x05\0\x06".to_vec();
        let webp = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x0f\0\0\x07\0\0".to_vec();
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x02\xc0\0\0".to_vec();
        for (bytes, media, size) in [
            (png, "image/png", (256, 2)),
            (gif, "image/gif", (3, 4)),
            (jpeg, "image/jpeg", (6, 5)),
            (webp, "image/webp", (16, 8)),
            (lossless, "image/webp", (3, 4)),
        ] {
            let found = Picture::of(&bytes).unwrap();
            assert_eq!((found.media, (found.width, found.height)), (media, size));
            for cut in 0..bytes.len() {
                assert_eq!(Picture::of(bytes.get(..cut).unwrap()), None, "{media} {cut}");
            }
        }
        assert_eq!(Picture::of(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), None);
        assert_eq!(Picture::of(b"GIF89a\0\0\x04\0"), None);
    }
}
