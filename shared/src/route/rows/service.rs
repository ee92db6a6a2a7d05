//! The service itself and the caller: parameters and rows.

use crate::route::param::Param;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

params! {
    /// Links to what pages load carry the file's fingerprint, so that browsers ask again when it changes.
    FileVersion: Text =
        Param::text("v", 64, "The file's fingerprint, as the pages' links carry it; any value gives the same file.").or_ignored();
}

macro_rules! service_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Me: Get "/v1/me" {
                access: Key, family: Public, cache: Cache::NEVER,
                query: [], answers: "Data<Me>", errors: [],
                about: "The calling key: who holds it, what it may do, what it has used.",
            }
            Health: Get "/v1/health" {
                access: Public, family: Health, cache: Cache::NEVER,
                door: EdgeAndRelay,
                query: [], answers: "Health", errors: [],
                about: "Whether the service answers and how fresh its data is.",
            }
            Status: Get "/v1/status" {
                access: Public, family: Status, cache: Cache::present(60), tags: [FailSafe],
                door: EdgeAndRelay,
                query: [], answers: "StatusFeed", errors: [],
                about: "How the parts of the service do, each with the reason where it does not do well. It answers whatever is broken.",
            }
            OpenApi: Get "/v1/openapi.json" {
                access: Public, family: Public, cache: Cache::built_in(),
                door: EdgeAndRelay,
                query: [], answers: "OpenApi", errors: [],
                about: "This document: every route with its parameters, answers, errors and examples, and what webhooks and the stream carry.",
            }
            Ready: Get "/ready" {
                access: Public, family: Unmetered, cache: Cache::NEVER,
                door: EdgeAndRelay,
                query: [], answers: "Ready", errors: [],
                about: "Whether the database answers within a second.",
            }
            Docs: Get "/v1/docs" {
                access: Public, family: Unmetered, cache: Cache::NEVER,
                door: EdgeAndRelay,
                query: [], answers: "Page", errors: [],
                about: "The documentation for people: where to begin.",
            }
            DocsFile: Get "/v1/docs/{file}" {
                access: Public, family: Unmetered, cache: Cache::NEVER,
                door: EdgeAndRelay,
                query: [FileVersion], answers: "Page", errors: [NotFound],
                about: "A page of the documentation, its text as Markdown, or a file that the pages need.",
            }
        }
    };
}

pub(in crate::route) use service_rows;
