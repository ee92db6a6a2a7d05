//! Dispatch from a row of the route table to its handler. The match has no catch-all arm, so a route without a handler does not compile.

use crate::app::App;
use crate::catalog::CATCH_UP_TIMEOUT;
use crate::http::assets::{self, rwa};
use crate::http::baskets::{self, indices, reference_rates};
use crate::http::events::{self, critical};
use crate::http::exchange::answer::{Answer, Failure, wrong_method};
use crate::http::exchange::call::Call;
use crate::http::exchange::response_cache::CacheKey;
use crate::http::exchange::trace::Trace;
use crate::http::graph::{self, decisions};
use crate::http::lists;
use crate::http::markets;
use crate::http::push::{basket_webhooks, event_stream, webhooks};
use crate::http::registry::{curators, protocols, symbols};
use crate::http::scoring::{methodology, research};
use crate::http::security::signals;
use crate::http::server::Server;
use crate::http::service::{documents, health, me, openapi, status};
use crate::http::vaults::{self, allocation, changes, detail, holders, portfolio, strategies};
use crate::metrics::Label;
use crate::traces;
use axum::body::Bytes;
use axum::http::header::{CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::request::Parts;
use rds_shared::access::{Principal, gate};
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::param::Registry;
use rds_shared::route::unknown::{refuse_unknown_values, unknown_values};
use rds_shared::route::{Matching, Query, Route, RouteId, Tag, TagVersions, is_graph_path};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use std::sync::Arc;

/// Checks that `principal` may call the matched route, parses the request and calls the route's handler.
pub async fn route(
    server: &Server,
    matching: Matching,
    principal: Principal,
    head: &Parts,
    body: Bytes,
    trace: &mut Trace,
) -> Result<Answer, Failure> {
    let app = &server.app;
    trace.identify(&principal);
    if is_graph_path(head.uri.path()) && !app.graph.is_enabled() {
        return Err(ApiError::not_found("route").into());
    }
    let found = match matching {
        Matching::Found(found) => found,
        Matching::NotFound => return Err(ApiError::not_found("route").into()),
        Matching::WrongMethod(allow) => return Err(wrong_method(allow).into()),
    };
    trace.label = Label::Route(found.route.id);
    let route = found.route;
    gate::admit(route.access_now(app.streams.anonymous), &principal)?;
    let now = app.clock.now();
    let question = is_page_of_the_catalog(route.id).then(|| CacheKey {
        target: head.uri.path_and_query().map_or("/", |target| target.as_str()),
        class: principal.content_class(),
        generation: app.catalog.generation(),
        now,
    });
    if let Some(question) = question
        && let Some(page) = server.pages.get(&question)
    {
        let tags = tags(app, route, head).await;
        refuse_while_closed(app, route)?;
        // The generation is checked after the tag versions were read, so this catalog and the page include every change that the tag
        // versions include.
        if app.catalog.generation() == question.generation {
            return Ok(page.answer(head.headers.get(IF_NONE_MATCH)).with_tag_versions(tags));
        }
    }
    let query = Query::parse(found.route.query, head.uri.query().unwrap_or(""))?;
    trace.ignored = query.ignored();
    let unknown_values = unknown_values(&query, |registry, name| knows(app, registry, name));
    if let Some(unknown) = unknown_values.as_deref().filter(|_| query.is_strict()) {
        return Err(refuse_unknown_values(unknown).into());
    }
    let call = Call {
        found,
        query,
        unknown_values,
        through: trace.through.clone(),
        principal,
        body,
        content_type: head.headers.get(CONTENT_TYPE).cloned(),
        if_none_match: head.headers.get(IF_NONE_MATCH).cloned(),
        idempotency_key: head.headers.get(headers::IDEMPOTENCY_KEY).cloned(),
        now,
    };
    if route.tags.is_empty() && !route.scores {
        return Ok(traces::step(route.id.name(), dispatch(app, &call, head))
            .await?
            .with_unknown_values(call.unknown_values));
    }
    let tags = tags(app, route, head).await;
    refuse_while_closed(app, route)?;
    let answer =
        traces::step(route.id.name(), dispatch(app, &call, head)).await?.with_unknown_values(call.unknown_values);
    if let Some(question) = question {
        server.pages.offer(&question, || answer.page());
    }
    Ok(answer.with_tag_versions(tags))
}

/// Whether a registry has `name`, ignoring case. Until the catalog is loaded, every name counts as known.
fn knows(app: &App, registry: Registry, name: &str) -> bool {
    let Ok(catalog) = app.catalog.get() else { return true };
    catalog.model.registries.knows(registry, name)
}

/// Whether responses of a route are pages of catalog rows, which the micro-cache serves for a second.
const fn is_page_of_the_catalog(id: RouteId) -> bool {
    use RouteId::{AssetList, CuratorList, MarketList, OracleList, Royco, RwaList, VaultList, VaultScores};
    matches!(id, VaultList | VaultScores | Royco | MarketList | OracleList | CuratorList | AssetList | RwaList)
}

/// Refuses routes that show scores while the mode is `fail_closed`. Called after the tag versions were read, so that this process
/// knows every change of the mode that the edge knows.
fn refuse_while_closed(app: &App, route: &Route) -> Result<(), ApiError> {
    match route.scores && app.catalog.fail_safe() == FailSafeMode::FailClosed {
        true => Err(ErrorCode::FailClosed.into()),
        false => Ok(()),
    }
}

/// The tag versions that the response includes. If the edge knows newer versions than this process, waits for the catalog to reach them
/// first.
async fn tags(app: &App, route: &Route, head: &Parts) -> TagVersions {
    let wanted = head.headers.get(headers::TAGS).and_then(|text| text.to_str().ok()).map(TagVersions::parse);
    let known = match wanted {
        Some(wanted) => Box::pin(app.catalog.tags_since(&of(&wanted, route), CATCH_UP_TIMEOUT)).await,
        None => app.catalog.tags(),
    };
    of(&known, route)
}

/// The tag versions that responses of `route` depend on: those of its facts, and of the fail-safe mode.
fn of(versions: &TagVersions, route: &Route) -> TagVersions {
    versions.only(route.tags).with(Tag::FailSafe, versions.of(Tag::FailSafe))
}

/// Handlers that query the database are boxed, because their large futures would otherwise enlarge the future of every request.
async fn dispatch(app: &Arc<App>, call: &Call, head: &Parts) -> Result<Answer, Failure> {
    let App { catalog, db, clock, graph, histories, webhooks, .. } = &**app;
    let signing_key = app.signing_key.as_ref();
    match call.route().id {
        RouteId::VaultList
        | RouteId::VaultScores
        | RouteId::Royco
        | RouteId::Chains
        | RouteId::ProtocolList
        | RouteId::CuratorList
        | RouteId::AssetSymbols
        | RouteId::Stats
        | RouteId::MarketList
        | RouteId::OracleList
        | RouteId::OracleByAddress
        | RouteId::AssetList
        | RouteId::AssetFacets
        | RouteId::RwaList
        | RouteId::RwaFacets
        | RouteId::ReviewerList
        | RouteId::SecurityEventList
        | RouteId::LossBoard => lists::answer(catalog, call),
        RouteId::VaultById => Box::pin(detail::by_id(catalog, db, histories, call.of())).await,
        RouteId::VaultBatch => vaults::batch(catalog, call),
        RouteId::VaultDetail => Box::pin(detail::by_address(catalog, db, histories, call.of())).await,
        RouteId::VaultSnapshots => Box::pin(detail::snapshots(catalog, db, histories, call.of())).await,
        RouteId::VaultScoreHistory => Box::pin(detail::score_history(catalog, db, call.of())).await,
        RouteId::VaultEvents => Box::pin(detail::events(catalog, db, call.of())).await,
        RouteId::VaultChanges => Box::pin(changes::list(catalog, db, call.of())).await,
        RouteId::VaultHolders => Box::pin(holders::latest(catalog, db, call.of())).await,
        RouteId::VaultHolderHistory => Box::pin(holders::history(catalog, db, call.of())).await,
        RouteId::VaultMarkets => Box::pin(allocation::markets(catalog, db, call)).await,
        RouteId::VaultStrategies => Box::pin(strategies::breakdown(catalog, db, call)).await,
        RouteId::VaultStrategy => Box::pin(strategies::single(catalog, db, call)).await,
        RouteId::ProtocolById => Box::pin(protocols::by_id(catalog, db, call.of())).await,
        RouteId::CuratorById => Box::pin(curators::by_id(catalog, db, call.of())).await,
        RouteId::CuratorEvents => Box::pin(curators::events(catalog, db, call.of())).await,
        RouteId::Me => Box::pin(me::me(db, clock, call)).await,
        RouteId::MarketEvents => Box::pin(events::of_market(catalog, db, call.of())).await,
        RouteId::VaultsWithCriticalIncidents => Box::pin(critical::list(catalog, db, call.of())).await,
        RouteId::EventList => Box::pin(events::list(catalog, db, call.of())).await,
        RouteId::EventById => Box::pin(events::by_id(catalog, db, call)).await,
        RouteId::EventGroup => Box::pin(events::by_group(catalog, db, call)).await,
        RouteId::MarketById => Box::pin(markets::by_id(catalog, db, call)).await,
        RouteId::AssetSymbolHistory => Box::pin(symbols::history(catalog, db, call.of())).await,
        RouteId::Portfolio => Box::pin(portfolio::by_address(catalog, db, call)).await,
        RouteId::AssetDetail => Box::pin(assets::by_address(catalog, db, call)).await,
        RouteId::RwaCoverage => rwa::coverage(catalog, call),
        RouteId::RwaHistory => Box::pin(rwa::history(catalog, db, call.of())).await,
        RouteId::RwaById => Box::pin(rwa::by_id(catalog, db, call)).await,
        RouteId::SignalList => Box::pin(signals::list(catalog, db, call.of())).await,
        RouteId::SignalById => Box::pin(signals::by_id(catalog, db, call)).await,
        RouteId::Methodology => methodology::methodology(catalog, call),
        RouteId::ValidationReports => Box::pin(research::validation_reports(catalog, db, call.of())).await,
        RouteId::Claims => Box::pin(research::claims(catalog, db, call.of())).await,
        RouteId::ResearchSources => Box::pin(research::sources(catalog, db, call.of())).await,
        RouteId::Predictions => Box::pin(research::predictions(catalog, db, call.of())).await,
        RouteId::Backtests => Box::pin(research::backtests(catalog, db, call.of())).await,
        RouteId::ModelHealth => Box::pin(research::model_health(catalog, db, call.of())).await,
        RouteId::BasketList => Box::pin(baskets::list(catalog, db, call.of())).await,
        RouteId::BasketById => Box::pin(baskets::by_id(catalog, db, call.of())).await,
        RouteId::BasketVersions => Box::pin(baskets::versions(catalog, db, call.of())).await,
        RouteId::BasketVersion => Box::pin(baskets::version(catalog, db, call)).await,
        RouteId::BasketChanges => Box::pin(baskets::changes(catalog, db, call.of())).await,
        RouteId::BasketMethodologyVersions => Box::pin(baskets::methodologies(catalog, db, call.of())).await,
        RouteId::WebhookCreate => Box::pin(webhooks::create(db, webhooks, call)).await,
        RouteId::WebhookList => Box::pin(webhooks::list(db, call.of())).await,
        RouteId::WebhookById => Box::pin(webhooks::by_id(db, call)).await,
        RouteId::WebhookDelete => Box::pin(webhooks::delete(db, call)).await,
        RouteId::WebhookTest => Box::pin(webhooks::test(db, clock, webhooks, call)).await,
        RouteId::WebhookDeliveries => Box::pin(webhooks::deliveries(db, clock, webhooks, call.of())).await,
        RouteId::WebhookReplay => Box::pin(webhooks::replay(db, webhooks, call.of())).await,
        RouteId::WebhookEnable => Box::pin(webhooks::enable(db, webhooks, call)).await,
        RouteId::BasketWebhookCreate => Box::pin(basket_webhooks::create(db, webhooks, call)).await,
        RouteId::BasketWebhooksOfAll => Box::pin(basket_webhooks::of_all(db, call.of())).await,
        RouteId::BasketWebhookList => Box::pin(basket_webhooks::list(db, call.of())).await,
        RouteId::BasketWebhookDelete => Box::pin(basket_webhooks::delete(db, call)).await,
        RouteId::BasketWebhookReplay => Box::pin(basket_webhooks::replay(db, webhooks, call.of())).await,
        RouteId::BasketWebhookEnable => Box::pin(basket_webhooks::enable(db, webhooks, call)).await,
        RouteId::IndexList => Box::pin(indices::list(catalog, db, call.of())).await,
        RouteId::IndexById => Box::pin(indices::by_id(catalog, db, call)).await,
        RouteId::IndexLevels => Box::pin(indices::levels(catalog, db, call.of())).await,
        RouteId::RateList => reference_rates::list(catalog, call.of()),
        RouteId::RateBySymbol => reference_rates::by_symbol(catalog, call),
        RouteId::LookThrough => graph::look_through(catalog, graph, call.of()),
        RouteId::Breach => graph::breach(graph),
        RouteId::IncidentExposure => graph::incident_exposure(catalog, graph, call.of()),
        RouteId::IncidentSummary => graph::incident_summary(graph),
        RouteId::GraphSnapshot => Box::pin(graph::snapshot(catalog, db, graph, call)).await,
        RouteId::GraphCheck => Box::pin(decisions::check(catalog, db, graph, signing_key, &app.metrics, call)).await,
        RouteId::DecisionById => Box::pin(decisions::by_id(catalog, db, call)).await,
        RouteId::SignerList => Box::pin(decisions::signers(catalog, db, call.of())).await,
        RouteId::DecisionVerify => Box::pin(decisions::evidence(catalog, db, call)).await,
        RouteId::EventStream => Box::pin(event_stream::open(catalog, &app.stream_sources, call.of(), head)).await,
        RouteId::Health => Box::pin(health::health(app, call)).await,
        RouteId::Status => Box::pin(status::status(app, call)).await,
        RouteId::OpenApi => Ok(openapi::document(call)),
        RouteId::Ready => Box::pin(health::ready(app)).await,
        RouteId::Docs | RouteId::DocsFile => documents::file(call, head),
        // The edge answers messages itself, by requests for other routes.
        RouteId::Mcp => Err(ApiError::not_found("route").into()),
    }
}
