// What the library must do in every runtime: pages, errors, retries, a stream that is cut, a webhook, a decision. Returns what it saw.

/** @param library everything of `@risk-data/client`. @param verifyDecision of `@risk-data/client/decisions`. */
export async function scenario(library, verifyDecision, { baseUrl, webhook, decision }) {
  const { Client, NotFoundError, WebhookError, infoOf, verifyWebhook } = library;
  const client = new Client({ baseUrl, apiKey: 'k' });
  const vaults = await client.vaults.list({ limit: 2 }).toArray();
  const again = await client.service.status();
  const missing = await client.vaults.get('missing').catch((error) => error);
  const frames = [];
  for await (const frame of client.events.stream()) {
    frames.push(frame.id ?? frame.kind);
    // The server cuts the stream when this arrives.
    if (frame.id === 'v2:1') await client.stats.get();
    if (frame.id === 'v2:2') break;
  }
  const input = { headers: webhook.headers, body: webhook.body, secrets: webhook.secrets, now: webhook.now };
  const genuine = await verifyWebhook(input);
  const altered = await verifyWebhook({ ...input, body: `${webhook.body} ` }).catch((error) => error);
  return {
    vaults: vaults.map((it) => it.name),
    tries: infoOf(again).tries,
    missing: missing instanceof NotFoundError ? missing.code : String(missing),
    frames,
    genuine: genuine.event_type,
    altered: altered instanceof WebhookError ? altered.reason : String(altered),
    decision: verifyDecision(decision, decision.signers).isGenuine,
  };
}
