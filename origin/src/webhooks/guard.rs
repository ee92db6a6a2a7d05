//! The guard: where a delivery may connect to, decided before every attempt on the addresses that a name has at that moment.
//!
//! Names are asked of the name servers by a resolver inside the process, and not by the system's `getaddrinfo`: that one reads a
//! hosts file, tries search domains, and blocks a thread that no deadline can end. Whoever connects takes one of the addresses
//! that were judged here, so a second look-up cannot say something else.

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

/// Name servers that are asked over the network.
#[derive(Debug)]
pub struct NameServers(Result<Resolvers, String>);

#[derive(Debug)]
struct Resolvers {
    names: TokioResolver,
    /// Keeps nothing: asked whether the name servers answer at all.
    alive: TokioResolver,
}

impl NameServers {
    /// Those of the system's configuration; what is wrong with it is told at each look-up.
    pub fn of_system() -> Self {
        Self::new(TokioResolver::builder_tokio, ASK_FOR)
    }

    fn new(builder: impl Fn() -> Result<ResolverBuilder<TokioRuntimeProvider>, NetError>, ask_for: Duration) -> Self {
        let resolver = |names| {
            let mut builder = builder()?;
            let options = builder.options_mut();
            options.use_hosts_file = ResolveHosts::Never;
            options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
            (options.timeout, options.attempts) = (ask_for, ASK_AGAIN);
            (options.positive_max_ttl, options.negative_max_ttl) = (Some(KEEP), Some(KEEP));
            options.cache_size = names;
            builder.build()
        };
        let both = resolver(NAMES).and_then(|names| Ok(Resolvers { names, alive: resolver(0)? }));
        NameServers(both.map_err(|error: NetError| error.to_string()))
    }
}

impl Resolve for NameServers {
    fn look_up<'a>(&'a self, name: &'a str) -> Looked<'a> {
        Box::pin(async move {
            let resolvers = self.0.as_ref().map_err(|error| LookupError::Ours(error.clone()))?;
            // The dot at the end says that the name is whole: no search domain is tried behind it.
            match resolvers.names.lookup_ip(format!("{name}.")).await {
                Ok(found) => Ok(found.iter().collect()),
                Err(error) => Err(resolvers.judged(error).await),
            }
        })
    }
}

impl Resolvers {
    /// Silence about one name is that name's fault only where our name servers say something about another.
    async fn judged(&self, error: NetError) -> LookupError {
        if !matches!(error, NetError::Timeout) {
            return judged(error);
        }
        match self.alive.lookup(".", RecordType::NS).await {
            Ok(_) | Err(NetError::Dns(_)) => judged(error),
            Err(silence) => LookupError::Ours(format!("name servers say nothing, not even about the root: {silence}")),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use std::net::{Ipv4Addr, SocketAddr};
    use tokio::net::UdpSocket;
    use tokio::task::JoinHandle;

    /// A name server that has nothing about the root, and says so where it speaks; about every other name it is silent.
    async fn name_server(speaks: bool) -> (SocketAddr, JoinHandle<()>) {
        const ANSWERS: [u8; 2] = [0x81, 0x80];
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut message = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut message).await {
                // Behind the twelve bytes of the head stands the name that is asked about; the root's is empty.
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
    async fn silence_about_a_name_is_ours_while_the_name_servers_say_nothing_at_all() {
        let (dead, silent) = name_server(false).await;
        let found = asking(dead).look_up("hooks.partner.dev").await;
        assert!(matches!(found, Err(LookupError::Ours(_))), "{found:?}");
        silent.abort();
        let (lame, speaking) = name_server(true).await;
        let found = asking(lame).look_up("hooks.partner.dev").await;
        assert!(matches!(found, Err(LookupError::NoAnswer(_))), "{found:?}");
        speaking.abort();
    }
}
