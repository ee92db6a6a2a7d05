//! The egress filter of deliveries: before every attempt it decides, from the name's current addresses, where to connect.
//!
//! Names are resolved inside the process and not with the system's `getaddrinfo`, which reads a hosts file, tries search domains, and
//! blocks a thread that no deadline can end. The connection goes to one of the addresses that were checked here, so a second look-up
//! (DNS rebinding) cannot change the destination.

use hickory_resolver::config::{LookupIpStrategy, ResolveHosts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RecordType;
use hickory_resolver::{ResolverBuilder, TokioResolver};
use rds_shared::push::target::{Host, Policy, Refusal, Target};
use std::fmt::Debug;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of one query to a name server, and number of attempts.
const QUERY_TIMEOUT: Duration = Duration::from_millis(1_500);
const QUERY_ATTEMPTS: usize = 2;
/// Maximum time for which an answer is cached, and thus for which a changed address goes unnoticed.
const MAX_TTL: Duration = Duration::from_secs(30);
/// Maximum cached names.
const CACHE_SIZE: u64 = 1_024;

/// Why a name could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// There is no such name, or it has no address.
    #[error("the name has no address")]
    NoAddress,
    /// The name's servers did not answer.
    #[error("the name's servers did not answer: {0}")]
    NoAnswer(String),
    /// Our own name server cannot be reached; a subscriber cannot fix that.
    #[error("no name server can be reached: {0}")]
    OurFault(String),
}

/// The future of a look-up.
pub type Looked<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, LookupError>> + Send + 'a>>;

/// Resolves host names.
pub trait Resolve: Debug + Send + Sync {
    /// Every address of `name`, which is fully qualified and lower case. Dropping the future ends the look-up.
    fn look_up<'a>(&'a self, name: &'a str) -> Looked<'a>;
}

/// Resolves names with name servers over the network.
#[derive(Debug)]
pub struct NameServers(Result<Resolvers, String>);

#[derive(Debug)]
struct Resolvers {
    names: TokioResolver,
    /// Without a cache: used to check whether the name servers answer at all.
    alive: TokioResolver,
}

impl NameServers {
    /// The name servers of the system's configuration; an error in it is returned by each look-up.
    pub fn of_system() -> Self {
        Self::new(TokioResolver::builder_tokio, QUERY_TIMEOUT)
    }

    fn new(builder: impl Fn() -> Result<ResolverBuilder<TokioRuntimeProvider>, NetError>, ask_for: Duration) -> Self {
        let resolver = |names| {
            let mut builder = builder()?;
            let options = builder.options_mut();
            options.use_hosts_file = ResolveHosts::Never;
            options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
            (options.timeout, options.attempts) = (ask_for, QUERY_ATTEMPTS);
            (options.positive_max_ttl, options.negative_max_ttl) = (Some(MAX_TTL), Some(MAX_TTL));
            options.cache_size = names;
            builder.build()
        };
        let both = resolver(CACHE_SIZE).and_then(|names| Ok(Resolvers { names, alive: resolver(0)? }));
        NameServers(both.map_err(|error: NetError| error.to_string()))
    }
}

impl Resolve for NameServers {
    fn look_up<'a>(&'a self, name: &'a str) -> Looked<'a> {
        Box::pin(async move {
            let resolvers = self.0.as_ref().map_err(|error| LookupError::OurFault(error.clone()))?;
            // The trailing dot makes the name fully qualified, so no search domain is tried.
            match resolvers.names.lookup_ip(format!("{name}.")).await {
                Ok(found) => Ok(found.iter().collect()),
                Err(error) => Err(resolvers.classified(error).await),
            }
        })
    }
}

impl Resolvers {
    /// A timeout counts as the name's fault only if our name servers answer a query for another name.
    async fn classified(&self, error: NetError) -> LookupError {
        if !matches!(error, NetError::Timeout) {
            return classified(error);
        }
        match self.alive.lookup(".", RecordType::NS).await {
            Ok(_) | Err(NetError::Dns(_)) => classified(error),
            Err(silence) => {
                LookupError::OurFault(format!("the name servers do not answer, not even for the root: {silence}"))
            }
        }
    }
}

fn classified(error: NetError) -> LookupError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain | ResponseCode::NoError => LookupError::NoAddress,
            other => LookupError::NoAnswer(other.to_string()),
        },
        NetError::Io(_) | NetError::Busy | NetError::NoConnections => LookupError::OurFault(error.to_string()),
        other => LookupError::NoAnswer(other.to_string()),
    }
}

/// Why a target must not or cannot be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetError {
    /// Deliveries to the target are not permitted.
    Refused(Refusal),
    /// The target's name servers did not answer.
    NoAnswer,
    /// The target could not be resolved because of an error on our side.
    OurFault(String),
}

/// Resolves the host of a delivery's URL and checks URL and addresses against the policy.
#[derive(Debug, Clone)]
pub struct EgressFilter {
    policy: Policy,
    resolver: Arc<dyn Resolve>,
}

impl EgressFilter {
    /// A filter that permits public addresses and those that `policy` allows in addition.
    pub fn new(policy: Policy, resolver: Arc<dyn Resolve>) -> Self {
        EgressFilter { policy, resolver }
    }

    /// Parses `url` and resolves its addresses; a delivery may connect to each of them.
    pub async fn resolve_target(&self, url: &str) -> Result<(Target, Vec<IpAddr>), TargetError> {
        let target = Target::parse(url, &self.policy).map_err(TargetError::Refused)?;
        let addresses = match target.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match self.resolver.look_up(name).await {
                Ok(addresses) => addresses,
                Err(LookupError::NoAddress) => Vec::new(),
                Err(LookupError::NoAnswer(why)) => {
                    tracing::debug!(name, why, "the name servers of a webhook's host did not answer");
                    return Err(TargetError::NoAnswer);
                }
                Err(LookupError::OurFault(why)) => return Err(TargetError::OurFault(why)),
            },
        };
        target.admit(&addresses, &self.policy).map_err(TargetError::Refused)?;
        Ok((target, addresses))
    }

    /// Whether a delivery may go to the other end of a connection.
    pub fn permits(&self, peer: IpAddr) -> bool {
        self.policy.permits(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use std::net::{Ipv4Addr, SocketAddr};
    use tokio::net::UdpSocket;
    use tokio::task::JoinHandle;

    /// A name server that answers only queries for the root, and only if it `speaks`.
    async fn name_server(speaks: bool) -> (SocketAddr, JoinHandle<()>) {
        const ANSWERS: [u8; 2] = [0x81, 0x80];
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut message = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut message).await {
                // The queried name follows the header of twelve bytes; the root's name is empty.
                if speaks && message[12] == 0 {
                    message[2..4].copy_from_slice(&ANSWERS);
                    socket.send_to(&message[..length], from).await.unwrap();
                }
            }
        });
        (address, task)
    }

    fn asking(address: SocketAddr) -> NameServers {
        let mut connection = ConnectionConfig::udp();
        connection.port = address.port();
        let server = NameServerConfig::new(address.ip(), true, vec![connection]);
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        let builder = || Ok(TokioResolver::builder_with_config(config.clone(), TokioRuntimeProvider::default()));
        NameServers::new(builder, Duration::from_millis(50))
    }

    #[tokio::test]
    async fn a_timeout_is_our_fault_if_the_name_servers_do_not_answer_at_all() {
        let (dead, silent) = name_server(false).await;
        let found = asking(dead).look_up("hooks.partner.dev").await;
        assert!(matches!(found, Err(LookupError::OurFault(_))), "{found:?}");
        silent.abort();
        let (lame, speaking) = name_server(true).await;
        let found = asking(lame).look_up("hooks.partner.dev").await;
        assert!(matches!(found, Err(LookupError::NoAnswer(_))), "{found:?}");
        speaking.abort();
    }
}
