// The pages of the explorer on the demo market: an address of each, and facts that it must show.

/** Text as it stands in HTML. */
export const htmlOf = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The text of a page, without markup. */
export function textOf(html) {
  const body = html.slice(html.indexOf('<body'), html.indexOf('<script type="application/json"'));
  const plain = body.replace(/<(?:title|style)[^>]*>[^<]*<\/(?:title|style)>/g, '').replace(/<[^>]+>/g, ' ');
  const named = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return plain.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => named[name]).replace(/\s+/g, ' ');
}

/** One page of each kind: its path, the path of the API, the row it shows, and texts that it must contain. */
export async function firstPages(stack) {
  const first = async (target) => (await stack.ok(target)).json.data[0];
  const part = encodeURIComponent;
  const vault = await first('/v1/vaults?limit=1&sortBy=total_score');
  const asset = (await stack.ok('/v1/assets/enriched?limit=50')).json.data.find(({ address }) => address);
  const market = await first('/v1/markets?limit=1');
  const feed = await first('/v1/oracle?limit=1');
  const curator = await first('/v1/curators?limit=1');
  const protocol = await first('/v1/protocols');
  const chain = await first('/v1/chains');
  const event = await first('/v1/events?limit=1');
  const loss = await first('/v1/security-events/losses?limit=1');
  const report = await first('/v1/security-events?limit=1');
  const signal = await first('/v1/signals?limit=1');
  const basket = await first('/v1/baskets');
  const score = vault.total_score.toFixed(2);
  const page = (path, api, row, ...facts) => ({ path, api, row, facts });
  return {
    vaults: page('/', '/v1/vaults', vault, 'Vaults'),
    vault: page(`/vaults/${part(vault.id)}`, `/v1/vaults/${vault.id}`, vault, vault.name, score, vault.risk_tier, vault.address, 'Why this score', 'Platform', 'Holders'),
    exposure: page(`/vaults/${part(vault.id)}/exposure`, null, vault, vault.name, vault.protocol_name),
    compare: page(`/compare?ids=${part(vault.id)}`, null, vault, vault.name, score),
    assets: page('/assets', '/v1/assets/enriched', asset, asset.symbol),
    asset: page(`/assets/${asset.chain_id}/${asset.address}`, null, asset, asset.symbol, asset.address, 'Dimensions'),
    markets: page('/markets', '/v1/markets', market, market.name),
    market: page(`/markets/${part(market.id)}`, null, market, market.name, 'Reserves', 'Utilization'),
    oracles: page('/oracles', '/v1/oracle', feed, feed.description ?? feed.address),
    oracle: page(`/oracles/${feed.chain_id}/${feed.address}`, null, feed, feed.address, 'Heartbeat'),
    curators: page('/curators', '/v1/curators', curator, curator.name),
    curator: page(`/curators/${part(curator.id)}`, null, curator, curator.name, 'Vaults'),
    protocols: page('/protocols', '/v1/protocols', protocol, protocol.name),
    protocol: page(`/protocols/${part(protocol.id)}`, null, protocol, protocol.name, 'Versions'),
    chains: page('/chains', '/v1/chains', chain, chain.name),
    chain: page(`/chains/${chain.chain_id}`, null, chain, chain.name),
    events: page('/events', '/v1/events', event, event.title),
    event: page(`/events/${event.id}`, null, event, event.title, event.source),
    losses: page('/losses', null, loss, loss.title),
    security: page('/security', null, report, report.title),
    signals: page('/signals', null, signal, signal.title),
    signal: page(`/signals/${signal.id}`, null, signal, signal.title),
    book: page('/book', null, null, 'Nothing of your book leaves this browser'),
    baskets: page('/baskets', null, basket, basket.name),
    basket: page(`/baskets/${part(basket.id)}`, null, basket, basket.name, basket.content_hash, 'Constituents'),
    status: page('/status', null, null, 'Parts'),
    search: page(`/search?q=${part(vault.name)}`, null, vault, vault.name),
  };
}
