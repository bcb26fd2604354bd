//! The cryptography of this process's HTTP clients.

/// Makes ring the one, unless another was chosen before. HTTP clients cannot be made without.
pub fn choose() {
    // An error says that it was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
