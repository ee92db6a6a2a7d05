//! A TCP proxy between the service and its database that a test can interrupt.

use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    Cut,
    Dead,
}

/// A running proxy, and the switch that interrupts it.
pub struct ChaosProxy {
    url: String,
    state: Arc<watch::Sender<State>>,
}

impl ChaosProxy {
    /// A proxy in front of the database at `url`.
    pub async fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (scheme, rest) = url.split_once("://").unwrap();
        let (authority, path) = rest.split_once('/').unwrap();
        let (user, target) =
            authority.rsplit_once('@').map_or((String::new(), authority), |(user, host)| (format!("{user}@"), host));
        let url = format!("{scheme}://{user}{}/{path}", listener.local_addr().unwrap());
        let state = Arc::new(watch::channel(State::Whole).0);
        tokio::spawn(forward(listener, target.to_owned(), state.clone()));
        ChaosProxy { url, state }
    }

    /// The database's URL through the proxy.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Ends every connection; new ones are closed at once.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Drops everything sent on open connections, permanently, without closing them; new connections may be allowed later.
    pub fn deaden(&self) {
        self.state.send_replace(State::Dead);
    }

    /// Allows new connections.
    pub fn mend(&self) {
        self.state.send_replace(State::Whole);
    }
}

async fn forward(listener: TcpListener, target: String, state: Arc<watch::Sender<State>>) {
    while let Ok((mut near, _)) = listener.accept().await {
        let (target, mut state) = (target.clone(), state.subscribe());
        tokio::spawn(async move {
            let mut far = TcpStream::connect(target).await.unwrap();
            let now = *state.borrow();
            let ended = match now {
                State::Whole => tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => State::Cut,
                    ended = state.wait_for(|state| *state != State::Whole) => ended.map_or(State::Cut, |state| *state),
                },
                ended => ended,
            };
            if ended == State::Dead {
                // Keeps both connections open without forwarding data.
                let _ = state.wait_for(|state| *state == State::Cut).await;
            }
        });
    }
}
