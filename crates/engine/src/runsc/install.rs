//! Installing `runsc`.
