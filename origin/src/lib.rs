//! The Risk Data Service origin, as a library, so that tests drive what the program runs.
