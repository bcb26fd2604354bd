//! The admin surface of Weir: metrics page, health and readiness.
