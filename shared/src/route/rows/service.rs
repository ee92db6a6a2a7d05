//! The service itself and the caller.

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
            Ready: Get "/ready" {
                access: Public, family: Unmetered, cache: Cache::NEVER,
                door: EdgeAndRelay,
                query: [], answers: "Ready", errors: [],
                about: "Whether the database answers within a second.",
            }
        }
    };
}

pub(in crate::route) use service_rows;
