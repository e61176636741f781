//! Tables of cases. Each row is a test with a name of its own.

/// Makes a test of each row, which calls the function above the table with the row's arguments.
macro_rules! rows {
    ($case:path: $($(#[$note:meta])* $name:ident($($argument:expr),* $(,)?);)+) => {
        $(#[test]
        $(#[$note])*
        fn $name() {
            $case($($argument),*);
        })+
    };
}

pub(crate) use rows;
