//! Invalidation of cached responses by requests that may change something (RFC 9111, section 4.4).

use super::fields::Fields;

/// Whether a method changes nothing (RFC 9110, section 9.2.1). An unknown method counts as unsafe.
pub fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

/// Targets to invalidate: the request's own, and those that the answer references on the same host. None after an error.
///
/// `host` is the host and port of the origin, `target` the request's path and query.
pub fn outdated(host: &str, target: &str, status: u16, answer: &Fields) -> Vec<String> {
    if !(200..400).contains(&status) {
        return Vec::new();
    }
    let pointed =
        ["location", "content-location"].into_iter().filter_map(|name| resolve(host, target, &answer.get(name)?));
    std::iter::once(target.to_owned()).chain(pointed).collect()
}

/// Resolves a reference to path and query; `None` if it is on another host (RFC 3986, section 5.2).
fn resolve(host: &str, target: &str, reference: &str) -> Option<String> {
    let reference = reference.trim().split('#').next()?;
    let path = target.split('?').next()?;
    let lead = reference.split(['/', '?']).next()?;
    if let Some((_, after)) = reference.split_once("://").filter(|_| lead.ends_with(':')) {
        return with_authority(host, after);
    }
    match reference {
        _ if lead.contains(':') => None,
        "" => Some(target.to_owned()),
        _ if reference.starts_with("//") => with_authority(host, reference.get(2..)?),
        _ if reference.starts_with('?') => Some(format!("{path}{reference}")),
        _ if reference.starts_with('/') => Some(without_dots(reference)),
        _ => Some(without_dots(&format!("{}{reference}", path.get(..=path.rfind('/')?)?))),
    }
}

/// Path and query of a reference with an authority, if its host is the same.
fn with_authority(host: &str, reference: &str) -> Option<String> {
    let end = reference.find(['/', '?']).unwrap_or(reference.len());
    let (authority, rest) = (reference.get(..end)?, reference.get(end..)?);
    let rooted = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
    authority.eq_ignore_ascii_case(host).then(|| without_dots(&rooted))
}

/// A path and query with `.` and `..` segments removed.
fn without_dots(target: &str) -> String {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let last = segments.len().saturating_sub(1);
    for (at, segment) in segments.into_iter().enumerate() {
        if segment == ".." {
            kept.pop();
        } else if segment != "." {
            kept.push(segment);
        }
        if at == last && matches!(segment, "." | "..") {
            kept.push("");
        }
    }
    let path = format!("/{}", kept.join("/"));
    query.map_or(path.clone(), |query| format!("{path}?{query}"))
}

#[cfg(test)]
mod tests {
    use super::super::fields::tests::fields;
    use super::*;
    use proptest::prelude::*;

    fn pointed(reference: &str) -> Option<String> {
        outdated("a.example:80", "/x/y?z", 201, &fields(&[("location", reference)])).get(1).cloned()
    }

    #[test]
    fn references_on_the_same_host_are_invalidated_too() {
        for (reference, target) in [
            ("/p", "/p"),
            ("p?q", "/x/p?q"),
            ("./p", "/x/p"),
            ("../p/./q/..", "/p/"),
            ("?q", "/x/y?q"),
            ("", "/x/y?z"),
            ("http://A.example:80/p#f", "/p"),
            ("//a.example:80", "/"),
            ("/p?u=http://b/", "/p?u=http://b/"),
        ] {
            assert_eq!(pointed(reference).as_deref(), Some(target), "{reference}");
        }
    }

    #[test]
    fn references_on_another_host_are_ignored() {
        for reference in [
            "http://b.example/p",
            "//b.example/p",
            "http://a.example/p",
            "mailto:a@a.example",
            "http://a.example:80@b/",
        ] {
            assert_eq!(pointed(reference), None, "{reference}");
        }
    }

    #[test]
    fn an_error_response_invalidates_nothing() {
        let answer = fields(&[("location", "/p")]);
        for status in [404, 500] {
            assert!(outdated("a", "/x", status, &answer).is_empty());
        }
        assert_eq!(outdated("a", "/x", 303, &answer), ["/x", "/p"]);
        assert!(is_safe("GET") && !is_safe("POST") && !is_safe("M-SEARCH"));
    }

    proptest! {
        #[test]
        fn every_reference_resolves_to_a_path(reference in "[a-c:/?.#@ ]{0,24}") {
            for target in outdated("a", "/b/c", 200, &fields(&[("location", &reference)])) {
                prop_assert!(target.starts_with('/'), "{}", target);
            }
        }
    }
}
