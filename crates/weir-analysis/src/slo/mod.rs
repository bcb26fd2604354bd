//! Service level objectives, error budgets, and the classes of errors.
