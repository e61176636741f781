//! Archives that are whole, every digest right, and lie: the tar stream and the places of the index are anything. So the input
//! gets past digests, checksums and compression, which no mutation would.

use std::fs;

use jackin_recovery::model::Digest;
use jackin_recovery::store::archive::Archive;

use super::archive::all;
use super::feed::Feed;

/// A tar block.
const BLOCK: usize = 512;

/// How many blobs, and the place of each; where the stream is cut into frames; the stream.
pub fn stream(bytes: &[u8]) -> bool {
    let mut feed = Feed(bytes);
    let flags = feed.byte();
    let blobs: Vec<Vec<u8>> = (0..flags & 7).map(|number| blob(number, &mut feed)).collect();
    let cut = usize::try_from(feed.number::<2>()).unwrap_or(0);
    let mut stream = feed.0.to_vec();
    if flags & 8 == 0 {
        sum_up(&mut stream);
    }
    let (first, second) = stream.split_at_checked(cut).unwrap_or((&stream, &[]));
    let parts: Vec<&[u8]> = [first, second]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let mut frames: Vec<(Vec<u8>, usize)> = parts.iter().map(|part| (pack(part), part.len())).collect();
    let index = index(&frames, &blobs);
    frames.push((pack(&index), index.len()));
    let file = with_table(&frames);
    let home = tempfile::tempdir().expect("a directory");
    let at = home.path().join("archive.tar.zst");
    fs::write(&at, &file).expect("a file");
    let Ok(archive) = Archive::open(&at, None) else {
        return false;
    };
    assert_eq!(archive.blobs().len(), blobs.len());
    assert_eq!(archive.frames() as usize, parts.len());
    all(&archive, file.len() as u64)
}

/// One blob of the index: digests in order, and anything as its place.
fn blob(number: u8, feed: &mut Feed<'_>) -> Vec<u8> {
    let mut out = vec![number; 32];
    out.push(feed.byte() % 5);
    out.extend_from_slice(&u32::from(feed.byte() % 4).to_le_bytes());
    out.extend_from_slice(&u32::try_from(feed.number::<3>()).unwrap_or(0).to_le_bytes());
    let (stored, logical) = (feed.number::<4>(), feed.number::<8>());
    // Of most blobs both are the same.
    let logical = if logical == 0 { stored } else { logical };
    out.extend_from_slice(&stored.to_le_bytes());
    out.extend_from_slice(&logical.to_le_bytes());
    out
}

/// Gives every block that looks like a header its checksum.
fn sum_up(stream: &mut [u8]) {
    for block in stream.chunks_exact_mut(BLOCK) {
        if block.get(257..262) == Some(b"ustar") {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
}

fn pack(content: &[u8]) -> Vec<u8> {
    let mut context = zstd::bulk::Compressor::new(1).expect("a context");
    let checksum = zstd::zstd_safe::CParameter::ChecksumFlag(true);
    context.set_parameter(checksum).expect("a parameter");
    context.compress(content).expect("a frame")
}

fn index(frames: &[(Vec<u8>, usize)], blobs: &[Vec<u8>]) -> Vec<u8> {
    let mut body = b"JKRINDX\x01".to_vec();
    body.extend_from_slice(&u32::try_from(frames.len()).unwrap_or(0).to_le_bytes());
    body.extend_from_slice(&(blobs.len() as u64).to_le_bytes());
    for (frame, _) in frames {
        body.extend_from_slice(&Digest::of(frame).0);
    }
    body.extend(blobs.concat());
    let mut out = vec![0; BLOCK];
    out[..22].copy_from_slice(b".jackin-recovery/index");
    out[100..107].copy_from_slice(b"0000600");
    out[108..115].copy_from_slice(b"0000000");
    out[116..123].copy_from_slice(b"0000000");
    out[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
    out[136..147].copy_from_slice(b"00000000000");
    out[156] = b'0';
    out[257..265].copy_from_slice(b"ustar\x0000");
    sum_up(&mut out);
    out.extend(body);
    out.resize(out.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    out
}

fn with_table(frames: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap_or(0).to_le_bytes();
    let mut out: Vec<u8> = frames.iter().flat_map(|(frame, _)| frame.clone()).collect();
    out.extend_from_slice(&0x184D_2A5E_u32.to_le_bytes());
    out.extend_from_slice(&number(frames.len() * 8 + 9));
    for (frame, raw) in frames {
        out.extend(number(frame.len()));
        out.extend(number(*raw));
    }
    out.extend(number(frames.len()));
    out.push(0);
    out.extend_from_slice(&0x8F92_EAB1_u32.to_le_bytes());
    out
}
