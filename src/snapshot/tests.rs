//! Encodings come back as they went in; hostile ones are refused.
