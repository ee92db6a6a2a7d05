//! `rds webhooks listen`: registers a webhook, receives its deliveries, verifies and prints them, and deregisters it.

use crate::connection;
use crate::failure::{self, Failure};
use crate::output::line;
use clap::ArgMatches;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use risk_data_client::types::{WebhookCreateBody, WebhookCreateFamily};
use risk_data_client::{WebhookEvent, Webhooks};
use std::convert::Infallible;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// A delivery has at most this many bytes.
const BODY: usize = 1 << 20;

/// Receives deliveries until it is stopped.
pub async fn run(given: &ArgMatches) -> Result<u8, Failure> {
    let client = connection::client(given)?;
    let text = |name: &str| given.get_one::<String>(name).cloned().unwrap_or_default();
    let listener = TcpListener::bind(text("listen")).await;
    let listener = listener.map_err(|error| Failure::Usage(format!("--listen {}: {error}", text("listen"))))?;
    let families = match given.get_many::<String>("families") {
        Some(all) => all.map(|it| WebhookCreateFamily::from(it.as_str())).collect(),
        None => WebhookCreateFamily::KNOWN.iter().map(|it| WebhookCreateFamily::from(*it)).collect(),
    };
    let description = Some("rds webhooks listen".into());
    let body = WebhookCreateBody { url: text("public-url"), families, description };
    let created = client.webhooks().create(body).await?;
    let (id, secret) = (created.data.id, created.data.secret.clone().unwrap_or_default());
    eprintln!("receiving on {}", listener.local_addr()?);
    eprintln!("webhook {id} delivers {} to {}; Ctrl-C deregisters it", created.data.families.len(), created.data.url);
    let left = given.get_one::<u64>("count").copied();
    let outcome = receive(&listener, &Webhooks::new([secret]), left).await;
    match client.webhooks().delete(id).await {
        Ok(_) => eprintln!("webhook {id} is deregistered"),
        Err(error) => {
            eprintln!("rds: webhook {id} is still registered: run rds webhooks delete {id}");
            outcome?;
            return Err(error.into());
        }
    }
    outcome.map(|()| failure::OK)
}

async fn receive(listener: &TcpListener, webhooks: &Webhooks, mut left: Option<u64>) -> Result<(), Failure> {
    let (sender, mut received): (Sender<WebhookEvent>, Receiver<WebhookEvent>) = mpsc::channel(16);
    while left != Some(0) {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                tokio::spawn(serve(stream, webhooks.clone(), sender.clone()));
            }
            Some(event) = received.recv() => {
                line(&event.json.to_string())?;
                left = left.map(|it| it - 1);
            }
            stopped = stop() => return stopped,
        }
    }
    Ok(())
}

/// Ends when the user or the system asks the program to stop.
async fn stop() -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            stopped = tokio::signal::ctrl_c() => stopped?,
            _ = terminate.recv() => {}
        }
        Ok(())
    }
    #[cfg(not(unix))]
    Ok(tokio::signal::ctrl_c().await?)
}

async fn serve(stream: TcpStream, webhooks: Webhooks, sender: Sender<WebhookEvent>) {
    let service = service_fn(|request: Request<Incoming>| answer(request, &webhooks, &sender));
    if let Err(error) = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
    {
        eprintln!("rds: a connection failed: {error}");
    }
}

async fn answer(
    request: Request<Incoming>,
    webhooks: &Webhooks,
    sender: &Sender<WebhookEvent>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let status = match Limited::new(body, BODY).collect().await {
        Err(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Ok(body) => match webhooks.verify(&parts.headers, &body.to_bytes()) {
            // Answered after it was handed over, so that a delivery that is not printed is sent again.
            Ok(event) => match sender.send(event).await {
                Ok(()) => StatusCode::NO_CONTENT,
                Err(_) => StatusCode::SERVICE_UNAVAILABLE,
            },
            Err(refusal) => {
                eprintln!("rds: a delivery was refused: {refusal}");
                StatusCode::BAD_REQUEST
            }
        },
    };
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    Ok(response)
}
