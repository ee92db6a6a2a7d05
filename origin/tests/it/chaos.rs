//! A wire between the service and its database that a test can cut and mend.

use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A TCP proxy before the database.
pub struct ChaosProxy {
    url: String,
    mended: Arc<watch::Sender<bool>>,
}

impl ChaosProxy {
    /// A whole wire to the database at `url`.
    pub async fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (scheme, rest) = url.split_once("://").unwrap();
        let (authority, path) = rest.split_once('/').unwrap();
        let (user, target) =
            authority.rsplit_once('@').map_or((String::new(), authority), |(user, host)| (format!("{user}@"), host));
        let url = format!("{scheme}://{user}{}/{path}", listener.local_addr().unwrap());
        let mended = Arc::new(watch::channel(true).0);
        tokio::spawn(forward(listener, target.to_owned(), mended.clone()));
        ChaosProxy { url, mended }
    }

    /// The database's address through the wire.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Ends every connection; new ones are closed at once.
    pub fn cut(&self) {
        self.mended.send_replace(false);
    }

    /// Lets new connections through.
    pub fn mend(&self) {
        self.mended.send_replace(true);
    }
}

async fn forward(listener: TcpListener, target: String, mended: Arc<watch::Sender<bool>>) {
    while let Ok((mut near, _)) = listener.accept().await {
        let (target, mut state) = (target.clone(), mended.subscribe());
        tokio::spawn(async move {
            if !*state.borrow() {
                return;
            }
            let mut far = TcpStream::connect(target).await.unwrap();
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                _ = state.wait_for(|mended| !mended) => {}
            }
        });
    }
}
