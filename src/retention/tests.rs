//! The rules, on a small field.
