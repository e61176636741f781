//! Tests of capture: see also the tests of the built binary.
