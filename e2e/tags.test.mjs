// Ingested facts show on the next request, even if the edge has fresh cached responses.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { verb } from './operator.mjs';
import { sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const cacheStatus = (answer) => answer.headers.get('x-cache');
let vault;
let now;
let count = 0;

before(async () => {
  [vault] = (await stack.ok('/v1/vaults?limit=1&chain=devnet')).json.data;
  now = Date.parse((await stack.operate('/clock')).json.now);
});

/** An observation of a new incident of the vault. */
function incident(title) {
  count += 1;
  // Other tests may have moved the service's clock ahead of the system clock, which the command line uses.
  const at = new Date(Math.min(now, Date.now()) - 60_000).toISOString();
  return {
    kind: 'incident_link', observed_at: at, occurred_at: at, source: 'e2e', event_key: `e2e-tags-${now}-${count}`, vault_id: vault.id,
    severity: 'Info', incident_severity: 'minor', remediation_status: 'resolved', title, loss_usd: 0, links: [],
  };
}

/** Ingests observations with the command line; resolves to its output. */
async function ingest(...lines) {
  const file = join(tmpdir(), `rds-e2e-tags-${process.pid}-${count}.ndjson`);
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  try {
    return await verb(stack, 'ingest', file);
  } finally {
    rmSync(file);
  }
}

/** Requests the target until the edge serves a cached response. */
async function fillCache(target) {
  await stack.ok(target);
  await until('a cached response is served', 10, async () => cacheStatus(await stack.ok(target)) === 'HIT');
}

const titles = async (target) => (await stack.ok(target)).json.data.map((event) => event.title);

describe('the next request after a verb has answered', () => {
  test('shows a new incident in lists and details that were cached', async () => {
    const events = `/v1/vault/devnet/${vault.address}/events`;
    const detail = `/v1/vaults/${vault.id}`;
    for (let round = 0; round < 3; round += 1) {
      await fillCache(events);
      await fillCache(detail);
      const title = `Incident ${now}-${round}`;
      const result = await ingest(incident(title));
      assert.deepEqual([result.edge, result.copies_for_seconds], ['acknowledged', null]);
      assert.ok((await titles(events)).includes(title));
      const { events: shown } = (await stack.ok(detail)).json.data;
      assert.ok(shown.some((event) => event.title === title));
    }
  });

  test('still gets cached responses about other facts', async () => {
    const target = `/v1/oracle?chain=devnet,no-${now}`;
    await fillCache(target);
    const age = Number((await stack.ok(target)).headers.get('age'));
    await ingest(incident('Unrelated to oracle feeds'));
    const answer = await stack.ok(target);
    assert.equal(cacheStatus(answer), 'HIT');
    assert.ok(Number(answer.headers.get('age')) >= age, 'the cached response was not revalidated');
  });

  test('follows at once on a verb that changed nothing', async () => {
    const same = incident('Ingested twice');
    await ingest(same);
    const again = await ingest(same);
    assert.deepEqual([again.changed, again.edge], [{}, 'acknowledged']);
  });
});

test('facts ingested at the admin listener show within five seconds, before cached responses expire', async () => {
  const events = `/v1/vault/devnet/${vault.address}/events`;
  await fillCache(events);
  const title = `Incident by the admin listener, ${now}`;
  const answer = await stack.operate('/ingest', { method: 'POST', body: JSON.stringify(incident(title)) });
  assert.equal(answer.status, 200, answer.text);
  await until('the incident shows', 5, async () => (await titles(events)).includes(title));
});

test('responses do not show their cache tags', async () => {
  assert.equal((await stack.ok('/v1/vaults?limit=1')).headers.get('x-service-tags'), null);
});

test("metrics show the lag of the edge's invalidations", async () => {
  const scrape = (await stack.operate('/metrics')).text;
  const value = (name) => Number(scrape.match(new RegExp(`^${name} (\\S+)$`, 'm'))[1]);
  assert.ok(value('rds_edge_tags_acknowledged_total') > 0);
  assert.ok(value('rds_edge_tags_lag_seconds') < 10);
});
