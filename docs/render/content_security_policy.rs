//! The content-security policies of the documentation's pages.

/// Of all pages but one: no content of other hosts, no inline scripts, no framing.
const STRICT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// [`STRICT`] plus compilation of WebAssembly, for the page that verifies decisions in the browser.
const VERIFYING: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                         base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Of the worker that reads scores again. It alone may send requests to other hosts, which the user names: to any over TLS, and to nodes on
/// the user's own machine. The page that starts it may not, so what is pasted there for other purposes cannot leave it.
const READING: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' https: http://localhost:* http://127.0.0.1:*";

/// The policy of the document with this name.
pub fn of(name: &str) -> &'static str {
    match name {
        "verify" => VERIFYING,
        "read-again-worker.mjs" => READING,
        _ => STRICT,
    }
}
