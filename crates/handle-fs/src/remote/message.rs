//! Messages on the wire: of each its length (four bytes, little endian), and that many bytes.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// So much of one is read at once (bytes).
const STEP: usize = 4 << 20;
/// No message is longer (bytes): what claims to be is none. A directory of five million long names fits.
const LONGEST: u32 = 2 << 30;

/// A message as it goes over the wire.
pub(super) fn written<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut bytes = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    if length > LONGEST {
        return Err(io::Error::other("a message is too long"));
    }
    if let Some(head) = bytes.get_mut(..4) {
        head.copy_from_slice(&length.to_le_bytes());
    }
    Ok(bytes)
}

/// Sends what [`written`] gave.
pub(super) fn tell(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    to.write_all(message)?;
    to.flush()
}

/// Sends a message.
pub(super) fn send<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    tell(to, &written(message)?)
}

/// Receives one; `None` at the end.
pub(super) fn receive<T: for<'de> Deserialize<'de>>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    let mut got = 0;
    while let Some(rest) = head.get_mut(got..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_le_bytes(head);
    if length > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the answer there is not from this program; does its shell print something first?",
        ));
    }
    let length = length as usize;
    let mut bytes = Vec::new();
    // What is claimed to come is made room for as it comes.
    while bytes.len() < length {
        let begin = bytes.len();
        bytes.resize(length.min(begin + STEP), 0);
        from.read_exact(bytes.get_mut(begin..).unwrap_or_default())?;
    }
    let message = postcard::from_bytes(&bytes);
    message
        .map(Some)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
}
