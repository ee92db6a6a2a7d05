// One request for every operation, chosen so that the demo market answers with meaningful content.
//
// Objects with a stable id are requested by id. Objects that exist only in one run of the stack (a snapshot, a decision, a
// subscription) are looked up first, and the parameters with their ids are listed in RUN_SPECIFIC_PARAMETERS.

import assert from 'node:assert/strict';

/** Parameters whose recorded example is valid only in the run that recorded it. */
export const RUN_SPECIFIC_PARAMETERS = {
  EventById: ['id'],
  EventGroup: ['groupKey'],
  SignalById: ['id'],
  BasketVersion: ['versionId'],
  GraphSnapshot: ['id'],
  DecisionById: ['id'],
  DecisionVerify: ['id'],
  WebhookById: ['id'],
  WebhookDelete: ['id'],
  WebhookTest: ['id'],
  WebhookDeliveries: ['id'],
  WebhookReplay: ['id'],
  WebhookEnable: ['id'],
  BasketWebhookDelete: ['whId'],
  BasketWebhookReplay: ['whId'],
  BasketWebhookEnable: ['whId'],
  VaultChanges: ['since'],
};

/** Builds requests for a stack; `receiver` is the URL of created webhooks. */
export class Plan {
  #stack;
  #receiver;
  #found = new Map();

  constructor(stack, receiver) {
    this.#stack = stack;
    this.#receiver = receiver;
  }

  /** The credential that an operation needs. */
  headers(operation) {
    const needs = operation.security.flatMap((one) => Object.keys(one));
    const credential = needs.includes('IndexToken') ? this.#stack.index_token : this.#stack.keys.decisioning;
    return { authorization: `Bearer ${credential}` };
  }

  #get(target, headers = { authorization: `Bearer ${this.#stack.keys.decisioning}` }) {
    return this.#stack.get(target, { headers });
  }

  async #rows(target) {
    const answer = await this.#get(target);
    assert.equal(answer.status, 200, `${target}: ${answer.text}`);
    return answer.json.data;
  }

  /** Calls `look` once per `name` and caches the result. */
  #once(name, look) {
    if (!this.#found.has(name)) this.#found.set(name, look());
    return this.#found.get(name);
  }

  /** The scored vault with the highest TVL whose detail route `suffix` answers 200 with wanted data. */
  #vaultThat(suffix, wanted = (data) => data !== null) {
    return this.#once(`vault ${suffix}`, async () => {
      const rows = await this.#rows('/v1/vaults?limit=100&sortBy=tvl_usd');
      for (const row of rows.filter((row) => row.total_score !== null)) {
        const answer = await this.#get(`/v1/vault/devnet/${row.address}${suffix}`);
        if (answer.status === 200 && wanted(answer.json.data)) return row;
      }
      throw new Error(`the demo has no vault whose detail route ${suffix} answers 200 with the wanted data`);
    });
  }

  async #vault(suffix, query = {}, wanted) {
    const { address } = await this.#vaultThat(suffix, wanted);
    return { path: { network: 'devnet', address }, query };
  }

  /** Creates a separate subscription for each request, because some operations delete the subscription. */
  async #subscription(basket) {
    const base = basket ? `/v1/baskets/${basket}/webhooks` : '/v1/webhooks';
    const body = basket ? { url: this.#receiver } : { url: this.#receiver, families: ['event.published'] };
    const answer = await this.#stack.post(base, body, { authorization: `Bearer ${this.#stack.keys.decisioning}` });
    assert.equal(answer.status, 200, answer.text);
    return String(answer.json.data.id);
  }

  async #keys(count) {
    const rows = await this.#once('portfolio', () => this.#rows('/v1/vaults?limit=20&sortBy=tvl_usd'));
    return rows.slice(0, count).map((row) => `${row.chain_id}:${row.address}`);
  }

  async #check(issue) {
    const [one, two] = await this.#keys(2);
    return {
      portfolioRef: 'treasury-1',
      positions: [{ vaultKey: one, amountUsd: 750000 }, { vaultKey: two, amountUsd: 250000.5 }],
      limits: { maxSharePerProtocol: 0.6, maxSharePerBridge: 0.2 },
      issue,
    };
  }

  #decision() {
    return this.#once('decision', async () => {
      const headers = { authorization: `Bearer ${this.#stack.keys.decisioning}` };
      const answer = await this.#stack.post('/v1/graph/check', await this.#check(true), headers);
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data;
    });
  }

  /** `{path, query, body}` for an operation; undefined for the event stream. */
  async request(id) {
    const first = async (list) => (await this.#once(list, () => this.#rows(list)))[0];
    const byId = async (list) => ({ path: { id: String((await first(list)).id) } });
    const webhook = async (query) => ({ path: { id: await this.#subscription() }, query });
    const basketWebhook = async (query) => ({ path: { id: 'prime-vaults', whId: await this.#subscription('prime-vaults') }, query });
    const plans = {
      VaultList: () => ({ query: { riskTier: ['prime', 'core'], depositable: true, sortBy: 'total_score', limit: 2 } }),
      VaultById: async () => ({ path: { id: (await this.#vaultThat('')).id }, query: { points: 30 } }),
      VaultsWithCriticalIncidents: () => ({ query: { limit: 2 } }),
      VaultScores: () => ({ query: { minRiskScore: 5, limit: 2 } }),
      VaultChanges: async () => ({ query: { since: new Date(Date.now() - 7 * 86_400_000).toISOString(), changed: 'score', limit: 2 } }),
      VaultBatch: async () => ({ body: { ids: [(await this.#vaultThat('')).id], addresses: [] } }),
      VaultDetail: () => this.#vault('', { points: 30 }),
      VaultSnapshots: () => this.#vault('/snapshots', { days: 30, points: 10 }),
      VaultScoreHistory: () => this.#vault('/score-history', { limit: 5 }, (data) => data.length > 0),
      VaultEvents: () => this.#vault('/events', {}, (data) => data.length > 0),
      VaultHolders: () => this.#vault('/holders', {}, (data) => data.top_holders.length > 0),
      VaultHolderHistory: () => this.#vault('/holders/history', { limit: 2 }, (data) => data.length > 0),
      VaultMarkets: () => this.#vault('/markets'),
      VaultStrategies: () => this.#vault('/strategies'),
      VaultStrategy: () => this.#vault('/strategy'),
      ProtocolById: async () => ({ ...(await byId('/v1/protocols')), query: { vaultLimit: 2 } }),
      CuratorList: () => ({ query: { sortBy: 'tvl_total', limit: 2 } }),
      CuratorById: async () => ({ ...(await byId('/v1/curators')), query: { vaultLimit: 2 } }),
      CuratorEvents: async () => ({ ...(await byId('/v1/curators')), query: { limit: 2 } }),
      MarketList: () => ({ query: { sortBy: 'total_borrowed_usd', limit: 2 } }),
      MarketById: () => byId('/v1/markets'),
      MarketEvents: async () => {
        for (const { id: market } of await this.#rows('/v1/markets?limit=100')) {
          if ((await this.#rows(`/v1/markets/${market}/events`)).length > 0) return { path: { id: market }, query: { limit: 2 } };
        }
        throw new Error('no market of the demo has an event');
      },
      OracleList: () => ({ query: { status: 'fresh', limit: 2 } }),
      OracleByAddress: async () => ({ path: { chain: 'devnet', address: (await first('/v1/oracle')).address } }),
      AssetSymbolHistory: async () => ({ path: { symbol: (await first('/v1/assets')).asset_symbol }, query: { range: '7d' } }),
      Portfolio: async () => {
        const { address } = await this.#vaultThat('/holders', (data) => data.top_holders.length > 0);
        const holders = (await this.#get(`/v1/vault/devnet/${address}/holders`)).json.data.top_holders;
        for (const holder of holders) {
          const answer = await this.#get(`/v1/portfolio/${holder.address}`);
          if (answer.status === 200 && answer.json.data.positions.length > 0) return { path: { address: holder.address } };
        }
        return { path: { address: holders[0].address } };
      },
      Royco: () => ({ query: { limit: 2 } }),
      AssetList: () => ({ query: { category: ['lst', 'lrt'], limit: 1 } }),
      AssetDetail: async () => {
        const rows = await this.#rows('/v1/assets/enriched?limit=100');
        const { address, chain_id: chain } = rows.find((row) => row.address !== null && row.risk_score !== null);
        return { path: { chain_id: String(chain), address } };
      },
      RwaList: () => ({ query: { risk_tier: ['Prime', 'Core'], limit: 1 } }),
      RwaHistory: () => ({ query: { range: '7d', breakdown: 'chain' } }),
      RwaById: async () => ({ path: { asset_id: (await first('/v1/rwa')).asset_id } }),
      EventList: () => ({ query: { severity: ['Critical', 'Warning'], limit: 2 } }),
      EventById: () => byId('/v1/events'),
      EventGroup: async () => {
        const rows = await this.#rows('/v1/events?limit=100');
        return { path: { groupKey: rows.find((row) => row.group_key !== null).group_key } };
      },
      SecurityEventList: () => ({ query: { affectsTrackedUniverse: 'true', limit: 1 } }),
      LossBoard: () => ({ query: { sort: 'loss', limit: 1 } }),
      SignalList: () => ({ query: { severity: ['RiskChange', 'PolicyBreach'], limit: 2 } }),
      SignalById: () => byId('/v1/signals'),
      Claims: () => ({ query: { limit: 2 } }),
      ValidationReports: () => ({ query: { limit: 1 } }),
      ResearchSources: () => ({ query: { limit: 2 } }),
      Predictions: () => ({ query: { horizon: '30d', limit: 2 } }),
      Backtests: () => ({ query: { outcome: 'price_loss', limit: 1 } }),
      ModelHealth: () => ({ query: { limit: 1 } }),
      BasketById: () => ({ path: { id: 'prime-vaults' } }),
      BasketVersions: () => ({ path: { id: 'prime-vaults' }, query: { pageSize: 2 } }),
      BasketVersion: async () => ({ path: { id: 'prime-vaults', versionId: (await this.#rows('/v1/baskets/prime-vaults')).version_id } }),
      BasketChanges: () => ({ path: { id: 'prime-vaults' }, query: { limit: 1 } }),
      BasketMethodologyVersions: () => ({ path: { id: 'prime-vaults' } }),
      IndexById: () => ({ path: { id: 'prime-vaults' } }),
      IndexLevels: () => ({ path: { id: 'prime-vaults' }, query: { days: 7 } }),
      RateBySymbol: async () => ({ path: { symbol: (await first('/v1/assets')).asset_symbol } }),
      LookThrough: async () => ({ query: { vaults: (await this.#keys(1)).join(',') } }),
      IncidentExposure: async () => ({ query: { vaults: (await this.#keys(2)).join(',') } }),
      GraphSnapshot: async () => ({ path: { id: (await this.#decision()).snapshotId } }),
      GraphCheck: async () => ({ body: await this.#check(true) }),
      DecisionById: async () => ({ path: { id: (await this.#decision()).decision.decisionId } }),
      DocsFile: () => ({ path: { file: 'llms.txt' } }),
      Mcp: () => ({ body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'overview', arguments: { view: 'chains' } } } }),
      DecisionVerify: async () => ({ path: { id: (await this.#decision()).decision.decisionId } }),
      WebhookCreate: () => ({ body: { url: this.#receiver, families: ['event.published', 'rating.changed'], description: 'Risk desk' } }),
      WebhookById: () => webhook(),
      WebhookDelete: () => webhook(),
      WebhookTest: () => webhook(),
      WebhookDeliveries: async () => {
        const made = await webhook({ limit: 1 });
        await this.#stack.post(`/v1/webhooks/${made.path.id}/test`, '', { authorization: `Bearer ${this.#stack.keys.decisioning}` });
        return made;
      },
      WebhookReplay: () => webhook(),
      WebhookEnable: () => webhook(),
      BasketWebhookCreate: () => ({ path: { id: 'prime-vaults' }, body: { url: this.#receiver } }),
      BasketWebhookList: () => ({ path: { id: 'prime-vaults' } }),
      BasketWebhookDelete: () => basketWebhook(),
      BasketWebhookReplay: () => basketWebhook(),
      BasketWebhookEnable: () => basketWebhook(),
      EventStream: () => undefined,
    };
    return plans[id] ? plans[id]() : {};
  }
}
