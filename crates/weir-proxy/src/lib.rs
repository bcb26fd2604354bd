//! The data path of Weir: listener, admission, upstream, tap.
