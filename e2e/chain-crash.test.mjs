// Two origins that read one chain, origins that are killed in the middle, and blocks that are replaced before and after they are final.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { World } from '../chain/world/world.mjs';
import { startNode, startProxy } from './chain-node.mjs';
import { allStarted, ended, serveBeside, up } from './private-stack.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const PROTOCOL = 'quillfish';
const TEN_DAYS = 864_000;
const PATIENCE = 60;
/** How many requests an origin may send until it is killed: anywhere in its first and later readings. */
const KILLED_AFTER = [2, 9, 17, 31, 46, 67, 88, 111, 131, 146, 165, 190];

// Each origin listens for the end of this process.
process.setMaxListeners(4 * KILLED_AFTER.length);
const folder = mkdtempSync(join(tmpdir(), 'rds-chain-'));
let [stack, node, world, database] = [];

let files = 0;

/** An origin with proxies of its own in front of the node, which stand for the same two operators as those of any other origin. */
async function startOrigin({ beforeAnswer = () => {} } = {}) {
  const origin = { requests: 0 };
  const answer = async () => {
    origin.requests += 1;
    await beforeAnswer(origin);
  };
  origin.proxies = await Promise.all([startProxy(node.url, answer), startProxy(node.url, answer)]);
  const providers = origin.proxies.map(({ url }, number) => ({ url, operator: `operator-${number}`, requests_per_second: 10_000 }));
  const prices = { [world.token]: { feed: world.feed, heartbeat_seconds: 604_800 } };
  const read = { every_seconds: 1, protocols: { [PROTOCOL]: {} }, prices, discovery: { protocol: PROTOCOL } };
  files += 1;
  const file = join(folder, `${files}.json`);
  writeFileSync(file, JSON.stringify({ chains: [{ chain_id: CHAIN, quorum: 2, providers, read }] }));
  const beside = await serveBeside(stack, { RDS_CHAIN_PROVIDERS: file });
  origin.child = beside.child;
  origin.metric = (name) => beside.metric(`${name}{chain="${CHAIN}"`);
  origin.stop = async () => {
    await beside.stop();
    for (const proxy of origin.proxies) proxy.stop();
  };
  return origin;
}

const rows = async (sql, ...values) => (await database.query(sql, values)).rows;
const cursor = async () => Number((await rows('SELECT block_number FROM chain_sync WHERE chain_id = $1', CHAIN))[0]?.block_number ?? -1);
const finalBlock = async () => Number((await world.rpc('eth_getBlockByNumber', 'finalized', false)).number);

/** Moves the chain: somebody deposits one dollar, which is final at once. */
async function move() {
  const holder = world.accounts[2];
  await world.send(holder, 'Vault', world.vault, 'deposit(uint256,address)', 1_000_000n, holder);
  await world.finalize(70);
}

const detail = async () => {
  const answer = await fetch(`${stack.edge}/v1/vault/devnet/${world.vault}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return { status: answer.status, vault: (await answer.json()).data?.vault };
};

before(async () => {
  [stack, node] = await allStarted(
    up('--data', 'demo', '--edge', 'workerd'),
    startNode('--timestamp', String(Math.floor(Date.now() / 1000) - TEN_DAYS)),
  );
  world = await World.create(node.url);
  database = new pg.Client({ connectionString: stack.database_url });
  await database.connect();
});

after(async () => {
  await database?.end();
  node?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Everything that was read is of a real block, whole, and not ahead of the cursor; each block that was read is one point of the history. The mark
 * for review and the verdict of a tried deposit outlive blocks, so they are not part of each.
 */
async function isWhole() {
  const blocks = await rows(
    `SELECT block_number, block_hash, extract(epoch FROM observed_at)::bigint AS time, array_agg(field ORDER BY field) AS fields
     FROM chain_reading WHERE field NOT IN ('needs_risk_review', 'deposit_status') GROUP BY 1, 2, 3 ORDER BY 1`,
  );
  assert.ok(blocks.length > 0);
  for (const { block_number, block_hash, time, fields } of blocks) {
    const block = await world.rpc('eth_getBlockByNumber', `0x${Number(block_number).toString(16)}`, false);
    assert.deepEqual([block_hash, Number(time)], [block.hash, Number(block.timestamp)]);
    assert.deepEqual(fields, blocks[0].fields, `block ${block_number}`);
  }
  const [sync] = await rows('SELECT block_number, block_hash FROM chain_sync WHERE chain_id = $1', CHAIN);
  const block = await world.rpc('eth_getBlockByNumber', `0x${Number(sync.block_number).toString(16)}`, false);
  assert.equal(sync.block_hash, block.hash);
  assert.ok(Number(blocks.at(-1).block_number) <= Number(sync.block_number));
  const [{ points }] = await rows(`SELECT count(*) AS points FROM vault_snapshot WHERE vault_id = $1`, `${PROTOCOL}-${CHAIN}-${world.vault}`);
  assert.equal(Number(points), blocks.length);
  return blocks.length;
}

describe('origins that read a chain', () => {
  test('leave nothing half when they are killed in the middle, again and again', async () => {
    for (const [round, limit] of KILLED_AFTER.entries()) {
      // In odd rounds the last answer still arrives, so that the commit may have begun.
      const beforeAnswer = (origin) => {
        if (origin.requests === limit) {
          if (round % 2 === 0) origin.child.kill('SIGKILL');
          else setImmediate(() => origin.child.kill('SIGKILL'));
        }
      };
      const origin = await startOrigin({ beforeAnswer });
      const death = new Promise((resolve) => origin.child.once('exit', (code, signal) => resolve(signal)));
      let isAlive = true;
      death.then(() => (isAlive = false));
      while (isAlive) await move();
      assert.equal(await death, 'SIGKILL');
      await origin.stop();
      if ((await cursor()) >= 0) await isWhole();
    }
    const origin = await startOrigin();
    const target = await finalBlock();
    await until('the chain is read to its end', PATIENCE, async () => (await cursor()) >= target);
    await origin.stop();
    assert.ok((await isWhole()) > 1, 'several blocks were read');
  });

  test('take over from one that is killed while it reads', async () => {
    let open;
    let isHeld = false;
    const gate = new Promise((resolve) => (open = resolve));
    // The first origin waits for an answer, with the right to read the chain.
    const first = await startOrigin({ beforeAnswer: async () => { isHeld = true; await gate; } });
    await until('the first one reads', PATIENCE, () => isHeld);
    const second = await startOrigin();
    await move();
    const before = await cursor();
    await until('the second one has looked twice', PATIENCE, async () => (await second.metric('rds_chain_elsewhere_total')) >= 2);
    assert.deepEqual([second.requests, await cursor()], [0, before], 'one at a time reads the chain');
    await ended(first.child, 'SIGKILL');
    const target = await finalBlock();
    await until('the second one reads on', PATIENCE, async () => (await cursor()) >= target);
    assert.ok((await second.metric('rds_chain_cycles_total')) >= 1);
    open();
    await first.stop();
    await second.stop();
    await isWhole();
  });
});

describe('a reorganisation', () => {
  let origin;
  before(async () => {
    origin = await startOrigin();
  });
  after(() => origin?.stop());

  for (const depth of [1, 31, 64]) {
    test(`of ${depth} blocks that are not final changes nothing that is served`, async () => {
      const target = await finalBlock();
      await until('the chain is read to its end', PATIENCE, async () => (await cursor()) >= target);
      const before = (await detail()).vault;
      const holder = world.accounts[2];
      // The deposit is in the oldest block that is taken back.
      await world.send(holder, 'Vault', world.vault, 'deposit(uint256,address)', 5_000_000_000n, holder);
      if (depth > 1) await world.finalize(depth - 1);
      await world.rpc('anvil_reorg', depth, []);
      await world.finalize(80);
      const later = await finalBlock();
      await until('a later block is read', PATIENCE, async () => (await cursor()) >= later);
      const { status, vault } = await detail();
      assert.deepEqual([status, vault.tvl_usd], [200, before.tvl_usd]);
      assert.equal(await origin.metric('rds_chain_contradicted'), 0);
      await isWhole();
    });
  }

  test('of 65 blocks replaces a final block that was read, and withholds the chain', async () => {
    const target = await finalBlock();
    await until('the chain is read to its end', PATIENCE, async () => (await cursor()) === target);
    await world.rpc('anvil_reorg', 65, []);
    await until('the chain is withheld', PATIENCE, async () => (await detail()).status === 404);
    assert.equal(await origin.metric('rds_chain_contradicted'), 1);
    const [{ halted }] = await rows('SELECT halted FROM chain_sync WHERE chain_id = $1', CHAIN);
    assert.match(halted, new RegExp(`^block ${target} was 0x`));
    const [{ from_block }] = await rows('SELECT from_block FROM chain_retraction WHERE chain_id = $1', CHAIN);
    const [{ last }] = await rows('SELECT max(block_number) AS last FROM chain_reading WHERE chain_id = $1', CHAIN);
    assert.equal(Number(from_block), Number(last) + 1, 'everything after the last block that stands is taken back');
  });
});
