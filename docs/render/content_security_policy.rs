//! The content-security policies of the documentation's pages.

/// Of all pages but one: no content of other hosts, no inline scripts, no framing.
const STRICT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// [`STRICT`] plus compilation of WebAssembly, for the page that verifies decisions in the browser.
const VERIFYING: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                         base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The policy of the document with this name.
pub fn of(name: &str) -> &'static str {
    if name == "verify" { VERIFYING } else { STRICT }
}
