// Vaults that the registry does not have: found by the events of the factories that made them, and by their own events.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { World, encode } from '../chain/world/world.mjs';
import { startNode, startProxy } from './chain-node.mjs';
import { allStarted, serveBeside, up } from './private-stack.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const PROTOCOL = 'quillfish';
const TEN_DAYS = 864_000;
const PATIENCE = 60;
/** What `make` of Factory.sol takes for the events of Yearn v3, Euler, Morpho Vault V2 and MetaMorpho. */
const KINDS = [0, 1, 2, 3];

const contracts = JSON.parse(readFileSync(new URL('../chain/world/factory.json', import.meta.url), 'utf8')).Factory;
const folder = mkdtempSync(join(tmpdir(), 'rds-discovery-'));
let [stack, node, world, database, operators, origin, factory, stranger, fromBlock] = [];
/** The second operator leaves every log out while this is set. */
let hidesLogs = false;

const rows = async (sql, ...values) => (await database.query(sql, values)).rows;
const candidates = async () => (await rows('SELECT address FROM chain_candidate WHERE chain_id = $1', CHAIN)).map(({ address }) => address);
const cursor = async () => Number((await rows('SELECT block_number FROM chain_sync WHERE chain_id = $1', CHAIN))[0]?.block_number ?? -1);
const finalBlock = async () => Number((await world.rpc('eth_getBlockByNumber', 'finalized', false)).number);
const read = () =>
  until('the chain is read to its end', PATIENCE, async () => (await cursor()) >= (await finalBlock()));

const served = async (address) => {
  const answer = await fetch(`${stack.edge}/v1/vault/devnet/${address}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return answer.status === 200 ? (await answer.json()).data.vault : undefined;
};

async function startOrigin(discovery) {
  const providers = operators.map(({ url }, number) => ({ url, operator: `operator-${number}`, requests_per_second: 10_000 }));
  const prices = { [world.token]: { feed: world.feed, heartbeat_seconds: 604_800 } };
  const reads = { every_seconds: 1, protocols: { [PROTOCOL]: {} }, prices, discovery };
  writeFileSync(join(folder, 'chains.json'), JSON.stringify({ chains: [{ chain_id: CHAIN, quorum: 2, providers, read: reads }] }));
  origin = await serveBeside(stack, { RDS_CHAIN_PROVIDERS: join(folder, 'chains.json') });
}

const deploy = async () => (await world.transact({ from: world.accounts[0], data: contracts.bytecode })).contractAddress;

/** Makes a vault, of which the factory tells; resolves to its address. */
async function make(by, kind, name) {
  const data = `0x${contracts.functions['make(uint256,string,address,address)']}${encode(kind, { text: name }, world.token, world.accounts[4])}`;
  const { logs } = await world.transact({ from: world.accounts[0], to: by, data });
  // The vault's own event is the first: that it has an owner.
  return logs[0].address;
}

async function deposit(vault) {
  const holder = world.accounts[2];
  await world.send(holder, 'Token', world.token, 'approve(address,uint256)', vault, 5_000_000n);
  await world.send(holder, 'Vault', vault, 'deposit(uint256,address)', 5_000_000n, holder);
}

before(async () => {
  [stack, node] = await allStarted(
    up('--data', 'demo', '--edge', 'workerd'),
    startNode('--timestamp', String(Math.floor(Date.now() / 1000) - TEN_DAYS)),
  );
  world = await World.create(node.url);
  const hide = (request) => (hidesLogs && request.method === 'eth_getLogs' ? { text: JSON.stringify({ jsonrpc: '2.0', id: request.id, result: [] }) } : undefined);
  operators = await Promise.all([startProxy(node.url), startProxy(node.url, hide)]);
  database = new pg.Client({ connectionString: stack.database_url });
  await database.connect();
  [factory, stranger] = [await deploy(), await deploy()];
  fromBlock = Number(await world.rpc('eth_blockNumber')) + 1;
});

after(async () => {
  await origin?.stop();
  await database?.end();
  for (const proxy of operators ?? []) proxy.stop();
  node?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('vaults that the registry does not have', () => {
  let made;

  test('are found by a deposit or a withdrawal, and kept without being served while nobody knows their protocol', async () => {
    const holder = world.accounts[2];
    made = await make(factory, 0, 'Made before');
    await deposit(made);
    // Of this vault only a withdrawal is searched for.
    await world.send(holder, 'Vault', world.vault, 'redeem(uint256,address,address)', 10n ** 18n, holder, holder);
    await world.finalize();
    await startOrigin({ from_block: fromBlock });
    await read();
    assert.deepEqual((await candidates()).sort(), [made, world.vault].sort());
    for (const address of [made, world.vault]) assert.equal(await served(address), undefined);
    await origin.stop();
  });

  test('are served once their factory is named, those that it made before included', async () => {
    await startOrigin({ from_block: fromBlock, factories: { [factory]: PROTOCOL } });
    await world.finalize(1);
    const vault = await until('the vault is served', PATIENCE, () => served(made));
    assert.equal(vault.name, 'Made before');
      assert.equal(await served(world.vault), undefined);
  });

  test('are found by the events of every factory in use before anybody used them', async () => {
    const vaults = [];
    for (const kind of KINDS) vaults.push(await make(factory, kind, `Made as ${kind}`));
    await world.finalize();
    for (const [kind, address] of vaults.entries()) {
      const vault = await until(`the vault ${kind} is served`, PATIENCE, () => served(address));
      assert.equal(vault.name, `Made as ${kind}`);
    }
  });

  test('are not served because a factory that nobody named tells of them', async () => {
    const vault = await make(stranger, 0, 'Of a stranger');
    await deposit(vault);
    await world.finalize();
    await until('it is a candidate', PATIENCE, async () => (await candidates()).includes(vault));
    assert.equal(await served(vault), undefined);
  });

  test('are not lost while one of two operators leaves out what the factory told', async () => {
    hidesLogs = true;
    const vault = await make(factory, 3, 'Told by one');
    await world.finalize();
    await read();
    assert.equal(await served(vault), undefined, 'one operator alone does not say to which protocol a vault belongs');
    hidesLogs = false;
    await world.finalize(1);
    assert.equal((await until('the vault is served', PATIENCE, () => served(vault))).name, 'Told by one');
  });
});
