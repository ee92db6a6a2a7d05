//! The part `hit`: a cached list, requested with a key whose limit must be exact.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};
use xtask::provision::cache::Cache;

use super::checks::{self, Crowd};
use super::hono::Source;
use super::nginx::{self, Nginx};
use super::{LIMIT, RPM, Subject, again, bare, hono};
use crate::Plan;
use crate::http::{self, Answer};
use crate::market::LIST;
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{self, Peer, Versus, cpu_micros, rate};

const PART: &str = "public list at the edge, keyed, exact limit, cached";

/// Compares the edge with each peer.
pub fn measure(cache: &Cache, plan: &Plan, subject: &Subject, report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    let narrow = market.mint(LIMIT)?;
    let edge = market.address("edge")?;
    let request = subject.request(LIST);
    let ours = cached(edge, || Ok(request.clone()))?;
    let ask = |more: &str| http::get(LIST, &format!("{}{more}", Subject::lines(key)));
    checks::confirms(edge, &ours, ask)?;
    checks::counts(edge, &request, RPM)?;
    // The client signs the requests, because nginx cannot sign the request with which it refreshes its cached response.
    let crowd = Mutex::new(market.signed_targets(&Subject::lines(&narrow), || LIST.to_owned())?);
    let asking = || {
        let mut out = Vec::new();
        crowd.lock().unwrap_or_else(PoisonError::into_inner)(&mut out);
        out
    };
    let exactness = |name: &str, address: SocketAddr, report: &mut Report| -> Result<Crowd> {
        let crowd = checks::crowd(address, LIMIT, asking)?;
        let exact = if crowd.is_exact(LIMIT) { "exact: yes" } else { "exact: no" };
        let cut = if crowd.cut == 0 { String::new() } else { format!("; {} connections cut", crowd.cut) };
        report.stated(
            &format!("{name}: requests admitted of a crowd of 64, over the limit of {LIMIT} a minute"),
            f64::from(crowd.admitted) / f64::from(LIMIT),
            &format!("{exact}{cut}"),
        );
        Ok(crowd)
    };
    ensure!(exactness("edge", edge, report)? == Crowd { admitted: LIMIT, cut: 0 }, "the edge's limit is not exact");

    let peer = hono::start(cache, market, Source::Responses)?;
    hono::provision(&peer, key, RPM)?;
    hono::provision(&peer, &narrow, LIMIT)?;
    let theirs = cached(peer.address, || Ok(request.clone()))?;
    checks::same_body(&ours, &theirs)?;
    checks::same_header_names(&ours, &theirs)?;
    checks::confirms(peer.address, &theirs, ask)?;
    checks::counts(peer.address, &request, RPM)?;
    ensure!(exactness("Hono", peer.address, report)?.is_exact(LIMIT), "Hono's limit is not exact");
    let versus = beside(plan, subject, again(peer.address, peer.pid(), request.clone()))?;
    let hono = "Hono in a JavaScript Worker";
    add_comparison(report, &versus, hono, Of::Rate, Target::AtLeast(1.0), "; exact: both");
    add_comparison(report, &versus, hono, Of::Cpu, Target::AtLeast(1.0), "; exact: both");
    drop(peer);

    let bare = bare::constant(cache, &ours.body)?;
    checks::same_body(&ours, &http::ask(bare.address, &request)?)?;
    let versus = beside(plan, subject, again(bare.address, bare.pid(), request.clone()))?;
    let name = "bare JavaScript Worker: the same bytes, no key, no limit, no cache";
    add_comparison(report, &versus, name, Of::Rate, Target::AtLeast(0.5), "; theirs counts nothing");
    drop(bare);
    let fewer = &super::fewer(plan);
    let object = bare::behind_an_object(cache, &ours.body)?;
    checks::same_body(&ours, &http::ask(object.address, &request)?)?;
    let versus = beside(fewer, subject, again(object.address, object.pid(), request.clone()))?;
    let name = "bare JavaScript Worker behind a call of an empty object";
    add_comparison(report, &versus, name, Of::Rate, Target::Stated, "; theirs counts and writes nothing");
    drop(object);

    let keys = nginx::Keys { wide: key, narrow: &narrow, limit: LIMIT };
    let nginx = Nginx::start(cache, market.address("origin_edge")?, &keys)?;
    let mut write = market.signed_targets(&Subject::lines(key), || LIST.to_owned())?;
    let signed = || {
        let mut out = Vec::new();
        write(&mut out);
        Ok(out)
    };
    let theirs = cached(nginx.address, signed)?;
    checks::same_body(&ours, &theirs)?;
    checks::confirms(nginx.address, &theirs, ask)?;
    let admitted = exactness("nginx limit_req", nginx.address, report)?.admitted;
    let peer = Peer { address: nginx.address, pid: nginx.worker, write: Box::new(write) };
    let versus = beside(fewer, subject, peer)?;
    let more = format!("; nginx's bucket let {admitted} of {LIMIT} a minute pass");
    add_comparison(report, &versus, "nginx proxy_cache + limit_req, key from a map", Of::Rate, Target::Stated, &more);
    Ok(())
}

/// The second answer to a request, which must be a cached response.
fn cached(address: SocketAddr, mut request: impl FnMut() -> Result<Vec<u8>>) -> Result<Answer> {
    http::ask(address, &request()?)?;
    let hit = http::ask(address, &request()?)?;
    ensure!(hit.status == 200 && hit.head.contains("x-cache: hit"), "no hit: {}", hit.head);
    Ok(hit)
}

fn beside(plan: &Plan, subject: &Subject, peer: Peer) -> Result<Versus> {
    let market = &subject.market;
    let edge = again(market.address("edge")?, market.pid("edge")?, subject.request(LIST));
    versus::measure_with_halves(plan, edge, peer)
}

/// The measure that a ratio compares.
enum Of {
    Rate,
    Cpu,
}

fn add_comparison(report: &mut Report, versus: &Versus, peer: &str, of: Of, target: Target, more: &str) {
    let (ours, theirs) = versus.medians();
    let (of, ratio) = match of {
        Of::Rate => ("requests/s, ours over theirs", versus.ratio(rate)),
        Of::Cpu => ("CPU, theirs over ours", versus.ratio(|sample| 1.0 / cpu_micros(sample))),
    };
    let more = format!("{more}{}", versus.cuts());
    report.compare(&Comparison { part: PART, peer, of, ratio, target, ours, theirs }, &more);
}
