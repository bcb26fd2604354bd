//! Traffic at both ends: the simulated engine and the load client.
