// What is taken in shows on the next request, however young the copies that the edge holds.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { verb } from './operator.mjs';
import { sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const cache = (answer) => answer.headers.get('x-cache');
let vault;
let now;
let count = 0;

before(async () => {
  [vault] = (await stack.ok('/v1/vaults?limit=1&chain=devnet')).json.data;
  now = Date.parse((await stack.operate('/clock')).json.now);
});

/** An incident of the vault that nobody has heard of, as an observation. */
function incident(title) {
  count += 1;
  const at = new Date(now - 60_000).toISOString();
  return {
    kind: 'incident_link', observed_at: at, occurred_at: at, source: 'e2e', event_key: `e2e-tags-${now}-${count}`, vault_id: vault.id,
    severity: 'Info', incident_severity: 'minor', remediation_status: 'resolved', title, loss_usd: 0, links: [],
  };
}

/** Takes observations in by the command line; resolves when the verb has answered. */
async function ingest(...lines) {
  const file = join(tmpdir(), `rds-e2e-tags-${process.pid}-${count}.ndjson`);
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  try {
    return await verb(stack, 'ingest', file);
  } finally {
    rmSync(file);
  }
}

/** A read of the vault's events that was asked before: there is a copy of it. */
async function copied(target) {
  await stack.ok(target);
  await until('a copy is served', 10, async () => cache(await stack.ok(target)) === 'HIT');
}

const titles = async (target) => (await stack.ok(target)).json.data.map((event) => event.title);

describe('the next request after a verb has answered', () => {
  test('sees an incident in lists and details of which there were copies', async () => {
    const events = `/v1/vault/devnet/${vault.address}/events`;
    const detail = `/v1/vaults/${vault.id}`;
    for (let round = 0; round < 3; round += 1) {
      await copied(events);
      await copied(detail);
      const title = `It shows at once, number ${now}-${round}`;
      const said = await ingest(incident(title));
      assert.deepEqual([said.edge, said.copies_for_seconds], ['acknowledged', null]);
      assert.ok((await titles(events)).includes(title));
      const { events: shown } = (await stack.ok(detail)).json.data;
      assert.ok(shown.some((event) => event.title === title));
    }
  });

  test('leaves copies of other facts alone', async () => {
    const target = `/v1/oracle?chain=devnet,no-${now}`;
    await copied(target);
    const age = Number((await stack.ok(target)).headers.get('age'));
    await ingest(incident('Nothing that feeds are made of'));
    const answer = await stack.ok(target);
    assert.equal(cache(answer), 'HIT');
    assert.ok(Number(answer.headers.get('age')) >= age, 'it was not even confirmed');
  });

  test('is answered at once when nothing was new', async () => {
    const same = incident('Twice');
    await ingest(same);
    const again = await ingest(same);
    assert.deepEqual([again.changed, again.edge], [{}, 'acknowledged']);
  });
});

test('what the operators\' door takes in shows within two seconds or so, without waiting for a copy to grow old', async () => {
  const events = `/v1/vault/devnet/${vault.address}/events`;
  await copied(events);
  const title = `By the door, ${now}`;
  const answer = await stack.operate('/ingest', { method: 'POST', body: JSON.stringify(incident(title)) });
  assert.equal(answer.status, 200, answer.text);
  await until('the incident shows', 5, async () => (await titles(events)).includes(title));
});

test('no answer tells a caller what it is made of', async () => {
  assert.equal((await stack.ok('/v1/vaults?limit=1')).headers.get('x-service-tags'), null);
});

test('the operator sees how far behind the edge is', async () => {
  const scrape = (await stack.operate('/metrics')).text;
  const value = (name) => Number(scrape.match(new RegExp(`^${name} (\\S+)$`, 'm'))[1]);
  assert.ok(value('rds_edge_tags_acknowledged_total') > 0);
  assert.ok(value('rds_edge_tags_lag_seconds') < 10);
});
