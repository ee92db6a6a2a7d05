//! The running stack: ordered start and stop, and its description in `stack.json`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Map, json};

use super::chain::{self, LocalChain, Standing};
use super::edge;
use super::keys::{self, Credentials};
use super::origin::{self, Origin};
use super::ports::{Ports, local};
use super::postgres::{self, Durability, Postgres, Urls};
use super::state::{Secrets, State, write_private};
use super::{Edge, FIRST_PARTY, Options, data};
use crate::command::POLL;
use crate::console::{Step, heading};
use crate::provision;
use crate::provision::cache::{Cache, remove};
use crate::service::{Service, was_stopped_from_outside};
use crate::{signals, wasm};

/// The running processes. Fields are declared, and therefore dropped, in the order of [`Stack::stop`].
pub struct Stack {
    origin: Option<Service>,
    edge: Option<Service>,
    chain: Option<LocalChain>,
    postgres: Option<Postgres>,
    ports: Ports,
    urls: Urls,
    admin_token: String,
    origin_program: PathBuf,
    origin_environment: PathBuf,
    credentials: Credentials,
    state: State,
}

impl Stack {
    /// Provisions, builds, starts and loads everything, and writes `stack.json` once everything is ready.
    ///
    /// # Errors
    /// Returns the error of the first step that fails, with a remedy. All services started so far are stopped.
    pub fn start(options: &Options, ports: Ports) -> Result<Self> {
        options.check()?;
        let state = State::open(&options.state)?;
        let _ = std::fs::remove_file(state.path("stack.json"));
        ports.require_free()?;
        let cache = Cache::open()?;
        let external = std::env::var("DATABASE_URL").ok();
        let home = postgres::home(&cache, &state)?;
        if options.fresh {
            empty(&state, &home, external.is_some())?;
        }
        let mut secrets = Secrets::load(&state)?;

        heading("Provision and build");
        let programs = match external {
            None => Some(provision::postgres::find(&cache)?),
            Some(_) => None,
        };
        let anvil = options.chain.then(|| provision::npm::anvil(&cache)).transpose()?;
        let profile = if options.release { origin::Profile::Release } else { origin::Profile::Up };
        let (worker, origin_program) = match options.edge {
            Edge::Workerd => {
                let workerd = provision::npm::workerd(&cache)?;
                let ahead = || origin::build_ahead(profile);
                let (bundle, program) = wasm::build_beside(&cache, options.release, ahead, || origin::build(profile))?;
                (Some((workerd, bundle)), program)
            }
            Edge::None => (None, origin::build(profile)?),
        };

        heading("Start");
        let postgres = programs
            .map(|programs| {
                let from = ports.postgres_from;
                postgres::start(&programs, &home, &state, &mut secrets, from, Durability::Kept)
            })
            .transpose()?;
        let (urls, record) = match (&postgres, external) {
            (Some(postgres), _) => (postgres.urls.clone(), home.join("loaded.json")),
            (None, Some(url)) => (Urls::one(url), state.path("loaded.json")),
            (None, None) => bail!("no database"),
        };
        let chain = anvil.map(|anvil| LocalChain::start(&anvil, &state, ports.postgres_from)).transpose()?;
        let origin = Origin::new(origin_program.clone(), &state, &mut secrets, options, &ports, &urls)?;
        let origin_environment = state.path("origin.env");
        origin.write_environment(&origin_environment)?;
        origin.migrate()?;
        // The signer is activated before data is loaded, because loading creates baskets and signs them.
        origin.activate_signer()?;
        data::load(&origin, options.data.as_ref(), &record)?;
        if let Some(chain) = &chain {
            data::require_demo(&record)?;
            follow(chain, &origin)?;
        }
        origin.build_graph()?;
        let credentials = keys::ensure(&origin, &mut secrets)?;
        let origin_service = origin.serve(&ports)?;
        let edge_service = worker
            .map(|(workerd, bundle)| {
                let variables = variables(&origin, &ports, options.traces.as_deref());
                edge::start(&workerd, &bundle, &state, &variables, ports.edge)
            })
            .transpose()?;

        let stack = Self {
            edge: edge_service,
            origin: Some(origin_service),
            chain,
            postgres,
            ports,
            urls,
            admin_token: origin.admin_token().to_owned(),
            origin_program,
            origin_environment,
            credentials,
            state,
        };
        stack.write_description()?;
        Ok(stack)
    }

    /// Path of `stack.json`, the machine-readable description of the running stack.
    pub fn description_file(&self) -> PathBuf {
        self.state.path("stack.json")
    }

    fn write_description(&self) -> Result<()> {
        let mut pids = Map::new();
        if let Some(postgres) = &self.postgres {
            pids.insert("postgres".to_owned(), json!(postgres.service.pid()));
        }
        for (name, service) in [("origin", &self.origin), ("edge", &self.edge)] {
            if let Some(service) = service {
                pids.insert(name.to_owned(), json!(service.pid()));
            }
        }
        if let Some(chain) = &self.chain {
            pids.insert("chain".to_owned(), json!(chain.node.pid()));
            pids.insert("chain_vaults".to_owned(), json!(chain.mover.pid()));
        }
        let edge = self.edge.is_some().then(|| http(self.ports.edge));
        let description = json!({
            "edge": edge,
            "origin_edge": http(self.ports.origin_edge),
            "relay": http(self.ports.relay),
            "admin": http(self.ports.admin),
            "database_url": self.urls.administrator,
            "chain": self.chain.as_ref().map(LocalChain::describe),
            "origin_bin": self.origin_program,
            "origin_env": self.origin_environment,
            "pids": pids,
            "keys": self.credentials.keys,
            "index_token": self.credentials.index_token,
            "admin_token": self.admin_token,
        });
        write_private(&self.description_file(), &serde_json::to_vec_pretty(&description)?)
    }

    /// Prints the addresses and the keys.
    pub fn describe(&self) {
        println!();
        if self.edge.is_some() {
            println!("  edge          {}", http(self.ports.edge));
            println!("                curl '{}/v1/vaults?limit=3'", http(self.ports.edge));
        }
        println!("  origin        {} (edge listener)", http(self.ports.origin_edge));
        println!("  relay         {}", http(self.ports.relay));
        println!("  admin         {}", http(self.ports.admin));
        if let Some(chain) = &self.chain {
            let api = if self.edge.is_some() { http(self.ports.edge) } else { http(self.ports.relay) };
            println!("  chain         {} (JSON-RPC of the local node; a vault changes every ten seconds)", chain.url());
            for (name, path) in chain.vault_paths() {
                println!("                curl '{api}{path}'   # {name}");
            }
        }
        for (name, key) in &self.credentials.keys {
            let key = key.as_str().unwrap_or_default();
            println!("  key {name:<12}{key}");
        }
        println!("  index token   {}", self.credentials.index_token);
        println!("  description   {}", self.description_file().display());
        println!("\n  Ctrl-C stops everything.");
    }

    /// Watches the services until a stop is requested.
    ///
    /// The origin may be stopped from outside: the edge then serves cached responses, and the stack keeps running. Any other end of a
    /// service is an error.
    pub fn watch(&mut self) -> Result<()> {
        while !signals::interrupted() {
            self.look()?;
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Checks every service once; see [`Stack::watch`].
    pub fn look(&mut self) -> Result<()> {
        if let Some(origin) = &mut self.origin
            && let Some(status) = origin.ended()?
        {
            if !was_stopped_from_outside(status) {
                bail!("the origin ended with {status}; {}", origin.last_lines());
            }
            heading(&format!(
                "  the origin was stopped from outside ({status}); the edge keeps serving cached responses.\n  \
                 Start it again with: env $(cat {}) {} serve",
                self.origin_environment.display(),
                self.origin_program.display()
            ));
            self.origin = None;
        }
        let postgres = self.postgres.as_mut().map(|postgres| &mut postgres.service);
        let chain = self.chain.iter_mut().flat_map(LocalChain::services);
        for service in [postgres, self.edge.as_mut()].into_iter().flatten().chain(chain) {
            if let Some(status) = service.ended()? {
                bail!("{} ended with {status}; {}", service.name(), service.last_lines());
            }
        }
        Ok(())
    }

    /// Prints the last log lines of the origin and the edge. Call this after a failure, while the stack still runs.
    pub fn show_logs(&self) {
        for service in [&self.origin, &self.edge].into_iter().flatten() {
            eprintln!("  {}", service.last_lines());
        }
    }

    /// Stops everything: the origin first, so that the last frames of its streams pass through the edge; Postgres last.
    pub fn stop(mut self) {
        eprintln!();
        heading("Stop");
        let _ = std::fs::remove_file(self.description_file());
        let postgres = self.postgres.take().map(|postgres| postgres.service);
        let (mover, node) = self.chain.take().map(|chain| (chain.mover, chain.node)).unzip();
        for mut service in [self.origin.take(), self.edge.take(), mover, node, postgres].into_iter().flatten() {
            let step = Step::start(service.name());
            if service.stop() {
                step.done("stopped");
            } else {
                step.failed("did not stop in time and was killed");
            }
        }
    }
}

/// Makes the service read the chain that the node has. What it read of a lost chain is taken back, or it would halt the chain.
fn follow(chain: &LocalChain, origin: &Origin) -> Result<()> {
    let chain_id = chain.chain_id().to_string();
    match chain.standing(&origin.verdict_json(&["chain", "status", "--json"])?)? {
        Standing::Followed => {}
        Standing::Halted(reason) => Step::start("the chain")
            .done(&format!("stays halted: {reason}; `rds-origin chain resume --chain {chain_id}` resumes it")),
        Standing::Lost => {
            let step = Step::start("what was read of the lost chain");
            let reason = "the local node has begun another chain";
            origin.quiet(&["chain", "retract", "--chain", &chain_id, "--from-block", "0", "--reason", reason])?;
            origin.quiet(&["chain", "resume", "--chain", &chain_id])?;
            step.done("taken back");
        }
    }
    Ok(())
}

/// The Worker's environment; see `edge/src/config.rs`.
fn variables(origin: &Origin, ports: &Ports, traces: Option<&str>) -> Vec<(&'static str, String)> {
    let traces = traces.map(|collector| {
        let every = |name| (name, "1".to_owned());
        [("OTLP_ENDPOINT", collector.to_owned()), every("TRACE_RATIO"), every("TRACE_CALLERS")]
    });
    let always = vec![
        ("ORIGIN_URL", http(ports.origin_edge)),
        ("FIRST_PARTY_ORIGINS", FIRST_PARTY.to_owned()),
        ("CLIENT_IP_HEADER", "CF-Connecting-IP".to_owned()),
        ("GRAPH", "1".to_owned()),
        // workerd runs the Worker and all its Durable Objects on one thread and one disk, so a call can exceed the default of 1 s.
        ("GUARD_TIMEOUT_MS", "5000".to_owned()),
        ("ASSERTION_KEY", origin.assertion_key().to_owned()),
    ];
    always.into_iter().chain(traces.into_iter().flatten()).collect()
}

fn http(port: u16) -> String {
    format!("http://{}", local(port))
}

/// Deletes the state of earlier runs: the database created by this tool, the local chain, the secrets and the edge's storage.
fn empty(state: &State, home: &std::path::Path, external: bool) -> Result<()> {
    if external {
        bail!(
            "--fresh does not empty the database in DATABASE_URL, because this tool did not create it; \
             empty it yourself, or unset DATABASE_URL"
        );
    }
    let step = Step::start("the old state");
    remove(home).context("the old data cannot be deleted")?;
    remove(&state.path("edge"))?;
    remove(&chain::folder(state))?;
    let _ = std::fs::remove_file(state.path("secrets.json"));
    step.done("deleted");
    Ok(())
}
