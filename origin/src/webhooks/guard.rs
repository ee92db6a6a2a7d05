//! The guard: where a delivery may connect to, decided before every attempt on the addresses that a name has at that moment.
//!
//! Names are asked of the name servers by a resolver inside the process, and not by the system's `getaddrinfo`: that one reads a
//! hosts file, tries search domains, and blocks a thread that no deadline can end. Whoever connects takes one of the addresses
//! that were judged here, so a second look-up cannot say something else.

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolveHosts};
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use rds_shared::push::target::{Host, Policy, Refusal, Target};
use std::fmt::Debug;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// How long one question to a name server may take, and how often it is put again.
const ASK_FOR: Duration = Duration::from_millis(1_500);
const ASK_AGAIN: usize = 2;
/// How long an answer is kept, at most: a rebound name is noticed by then.
const KEEP: Duration = Duration::from_secs(30);
/// Names whose answers are kept, at most.
const NAMES: u64 = 1_024;

/// Why a name has no addresses for us.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// There is no such name, or it has no address.
    #[error("the name has no address")]
    NoAddress,
    /// Its name servers did not say.
    #[error("the name's servers gave no answer: {0}")]
    NoAnswer(String),
    /// Our own name server cannot be asked: nothing that a subscriber could mend.
    #[error("no name server can be asked: {0}")]
    Ours(String),
}

/// What a look-up comes to.
pub type Looked<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, LookupError>> + Send + 'a>>;

/// Finds the addresses of names.
pub trait Resolve: Debug + Send + Sync {
    /// Every address of `name`, which is fully qualified and lower case. Dropping the future ends the look-up.
    fn look_up<'a>(&'a self, name: &'a str) -> Looked<'a>;
}

/// The name servers of the system's configuration.
#[derive(Debug)]
pub struct NameServers(Result<TokioResolver, String>);

impl NameServers {
    /// Reads the system's configuration; what is wrong with it is told at each look-up.
    pub fn of_system() -> Self {
        let resolver = TokioResolver::builder_tokio().and_then(|mut builder| {
            let options = builder.options_mut();
            options.use_hosts_file = ResolveHosts::Never;
            options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
            (options.timeout, options.attempts) = (ASK_FOR, ASK_AGAIN);
            (options.positive_max_ttl, options.negative_max_ttl) = (Some(KEEP), Some(KEEP));
            options.cache_size = NAMES;
            builder.build()
        });
        NameServers(resolver.map_err(|error| error.to_string()))
    }
}

impl Resolve for NameServers {
    fn look_up<'a>(&'a self, name: &'a str) -> Looked<'a> {
        Box::pin(async move {
            let resolver = self.0.as_ref().map_err(|error| LookupError::Ours(error.clone()))?;
            // The dot at the end says that the name is whole: no search domain is tried behind it.
            let found = resolver.lookup_ip(format!("{name}.")).await.map_err(judged)?;
            Ok(found.iter().collect())
        })
    }
}

fn judged(error: NetError) -> LookupError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain | ResponseCode::NoError => LookupError::NoAddress,
            other => LookupError::NoAnswer(other.to_string()),
        },
        NetError::Io(_) | NetError::Busy | NetError::NoConnections => LookupError::Ours(error.to_string()),
        other => LookupError::NoAnswer(other.to_string()),
    }
}

/// Why there is no way to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWay {
    /// It is not one that deliveries may go to.
    Refused(Refusal),
    /// Its name servers did not say where it is.
    NoAnswer,
    /// We could not find out; not its fault.
    Ours(String),
}

/// Judges targets.
#[derive(Debug, Clone)]
pub struct Guard {
    policy: Policy,
    resolver: Arc<dyn Resolve>,
}

impl Guard {
    /// A guard over the public internet and what `policy` allows besides.
    pub fn new(policy: Policy, resolver: Arc<dyn Resolve>) -> Self {
        Guard { policy, resolver }
    }

    /// Reads `url` and finds its addresses, every one of which a delivery may connect to.
    pub async fn way_to(&self, url: &str) -> Result<(Target, Vec<IpAddr>), NoWay> {
        let target = Target::parse(url, &self.policy).map_err(NoWay::Refused)?;
        let addresses = match target.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match self.resolver.look_up(name).await {
                Ok(addresses) => addresses,
                Err(LookupError::NoAddress) => Vec::new(),
                Err(LookupError::NoAnswer(why)) => {
                    tracing::debug!(name, why, "a webhook's name was not answered for");
                    return Err(NoWay::NoAnswer);
                }
                Err(LookupError::Ours(why)) => return Err(NoWay::Ours(why)),
            },
        };
        target.admit(&addresses, &self.policy).map_err(NoWay::Refused)?;
        Ok((target, addresses))
    }

    /// Whether a connection's other end is one that a delivery may go to.
    pub fn permits(&self, peer: IpAddr) -> bool {
        self.policy.permits(peer)
    }
}
