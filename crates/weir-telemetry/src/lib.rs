//! The pipeline of Weir and its recorders: Prometheus, access log, record file.
