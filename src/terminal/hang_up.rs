//! Other ends of streams that have gone away, asked of poll(2).

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Returns true if nothing is at the other end of `stream` any more: its reader ended, or its terminal was closed. Waits for nothing.
///
/// `asked` is the direction in which `stream` is used. It is never empty: macOS registers nothing then and reports nothing.
pub(super) fn is_hung_up(stream: impl AsFd, asked: PollFlags) -> bool {
    let mut polled = [PollFd::new(&stream, asked)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let is_polled = poll(&mut polled, Some(&now)).is_ok();
    is_polled && polled.iter().any(|stream| says_so(stream.revents()))
}

/// Returns true if the answer of poll(2) says that the other end is gone. macOS answers NVAL for a terminal that it cannot poll (`/dev/tty`).
fn says_so(answer: PollFlags) -> bool {
    answer.intersects(PollFlags::HUP | PollFlags::ERR)
}

#[cfg(test)]
mod tests {
    use super::{PollFlags, is_hung_up, says_so};
    use std::io::Write as _;

    #[test]
    fn a_terminal_that_cannot_be_polled_is_not_gone() {
        for answer in [PollFlags::empty(), PollFlags::NVAL, PollFlags::IN, PollFlags::OUT] {
            assert!(!says_so(answer), "{answer:?}");
        }
        for gone in [PollFlags::HUP, PollFlags::ERR, PollFlags::HUP | PollFlags::NVAL] {
            assert!(says_so(gone), "{gone:?}");
        }
    }

    #[test]
    fn a_pipe_is_hung_up_when_its_reader_is_gone() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        assert!(!is_hung_up(&writer, PollFlags::OUT));
        writer.write_all(&[0; 4096]).unwrap();
        assert!(!is_hung_up(&writer, PollFlags::OUT));
        assert!(!is_hung_up(&reader, PollFlags::IN));
        drop(reader);
        assert!(is_hung_up(&writer, PollFlags::OUT));
    }

    #[test]
    fn a_pipe_is_hung_up_when_its_writer_is_gone() {
        let (reader, writer) = std::io::pipe().unwrap();
        assert!(!is_hung_up(&reader, PollFlags::IN));
        drop(writer);
        assert!(is_hung_up(&reader, PollFlags::IN));
    }
}
