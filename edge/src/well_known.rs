//! Paths outside the API that people, browsers and crawlers try first, such as `/`, `/robots.txt` and `security.txt`.
//!
//! They are answered without the origin and are not rate-limited.

use crate::pages;
use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Plain};
use rds_shared::VERSION;
use rds_shared::access::cors::is_host;
use rds_shared::wire::headers;

/// The response at a path outside the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    /// The root: programs get an index of paths. Browsers get the explorer before the request comes here, else the documentation.
    Root,
    /// A redirect to this path.
    Redirect(&'static str),
    /// A documentation page, by name.
    Document(&'static str),
    /// `robots.txt`.
    Robots,
    /// `security.txt` (RFC 9116).
    Security,
}

const DOCS: &str = "/v1/docs";
const OPENAPI: &str = "/v1/openapi.json";
/// Crawlers may read the documentation and the explorer's pages. They should collect neither the data nor every combination of filters.
const ROBOTS: &str = "User-agent: *\nAllow: /v1/docs\nDisallow: /v1/\nDisallow: /*?\n";
const TEXT: &str = "text/plain; charset=utf-8";
/// Lifetime of a `security.txt` response, in seconds; RFC 9116 recommends less than a year.
const VALID_SECONDS: i64 = 180 * 86_400;

/// The entrance at `path`; `None` for every other path, in particular those of the API.
pub(crate) fn find(path: &str) -> Option<Entrance> {
    Some(match path {
        "/" => Entrance::Root,
        "/v1" | "/v1/" | "/docs" | "/docs/" | "/v1/docs/" => Entrance::Redirect(DOCS),
        "/openapi.json" | "/v1/openapi" | "/.well-known/openapi.json" => Entrance::Redirect(OPENAPI),
        "/favicon.ico" => Entrance::Document("icon.svg"),
        "/llms.txt" => Entrance::Document("llms.txt"),
        "/robots.txt" => Entrance::Robots,
        "/.well-known/security.txt" | "/security.txt" => Entrance::Security,
        _ => return None,
    })
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Answers a request for `entrance`.
    pub(crate) fn entered(&self, entrance: Entrance) -> Answer {
        match entrance {
            Entrance::Root if self.wants_html() => Answer::Plain(Plain::redirect(DOCS)),
            Entrance::Redirect(target) => Answer::Plain(Plain::redirect(target)),
            Entrance::Root => Answer::Plain(Plain::text(headers::JSON, index())),
            Entrance::Robots => Answer::Plain(Plain::text(TEXT, ROBOTS.to_owned())),
            Entrance::Security => Answer::Plain(Plain::text(TEXT, self.security())),
            Entrance::Document(name) => pages::find(Some(name)).map_or_else(Answer::Error, Answer::Document),
        }
    }

    /// Whether the client is a browser: browsers accept HTML explicitly, programs accept JSON or any type.
    pub(crate) fn wants_html(&self) -> bool {
        self.inbound.header("accept").is_some_and(|accept| accept.contains("text/html"))
    }

    fn security(&self) -> String {
        let named = self.inbound.header("host").filter(|host| is_host(host));
        let host = named.unwrap_or_else(|| self.config.cache_host.clone());
        let contact = self.config.security_contact.clone().unwrap_or_else(|| format!("https://{host}{DOCS}/security"));
        let expires = self.host.now().plus_seconds(VALID_SECONDS);
        format!(
            "Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\nPolicy: https://{host}{DOCS}/security\n"
        )
    }
}

/// The index of paths for programs.
fn index() -> String {
    format!(
        "{{\"service\":\"Risk Data Service\",\"version\":\"{VERSION}\",\"documentation\":\"{DOCS}\",\"openapi\":\"{OPENAPI}\",\
         \"health\":\"/v1/health\",\"status\":\"/v1/status\",\"llms\":\"/llms.txt\"}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::{Matching, Method, match_route};

    const PATHS: [&str; 14] = [
        "/",
        "/v1",
        "/v1/",
        "/docs",
        "/docs/",
        "/v1/docs/",
        "/openapi.json",
        "/v1/openapi",
        "/.well-known/openapi.json",
        "/favicon.ico",
        "/llms.txt",
        "/robots.txt",
        "/.well-known/security.txt",
        "/security.txt",
    ];

    #[test]
    fn these_paths_are_not_api_routes_and_every_target_exists() {
        for path in PATHS {
            assert!(matches!(match_route(Some(Method::Get), path), Matching::NotFound), "{path}");
            match find(path).unwrap() {
                Entrance::Redirect(target) => {
                    assert!(matches!(match_route(Some(Method::Get), target), Matching::Found(_)), "{path}");
                }
                Entrance::Document(name) => assert!(pages::find(Some(name)).is_ok(), "{path}"),
                Entrance::Root | Entrance::Robots | Entrance::Security => {}
            }
        }
        assert_eq!(find("/v1/vaults"), None);
    }

    #[test]
    fn the_index_is_json_and_every_path_in_it_exists() {
        let read: serde_json::Value = serde_json::from_str(&index()).unwrap();
        for name in ["documentation", "openapi", "health", "status"] {
            let path = read[name].as_str().unwrap();
            assert!(matches!(match_route(Some(Method::Get), path), Matching::Found(_)), "{path}");
        }
        assert_eq!(find(read["llms"].as_str().unwrap()), Some(Entrance::Document("llms.txt")));
    }
}
