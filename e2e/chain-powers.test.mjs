// Powers over a token that a vault holds, read from published proxies and controllers on a real node: they answer questions about the asset,
// they are followed, and anybody can read them again.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { World, encode } from '../chain/world/world.mjs';
import { readAgain } from '../shared/verifier/build/node.js';
import { AssetThirdParty } from './asset-score.mjs';
import { startNode } from './chain-node.mjs';
import { verb } from './operator.mjs';
import { allStarted, serveBeside, up } from './private-stack.mjs';
import { Packages, Sender, governance } from './protocols.mjs';
import { until } from './stack.mjs';

const CHAIN = 31_337;
const PROTOCOL = 'quillfish';
const TEN_DAYS = 864_000;
/** Seconds within which a change on the chain must be served. */
const PATIENCE = 60;
/** The administrator's slot of ERC-1967. */
const ADMIN_SLOT = '0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103';
const PROGRAM = fileURLToPath(new URL('../shared/verifier/build/read-again-cli.js', import.meta.url));

const { Coin } = JSON.parse(readFileSync(new URL('../chain/world/powers.json', import.meta.url), 'utf8'));
const ofCoin = (signature, ...values) => `0x${Coin.functions[signature]}${encode(...values)}`;
const folder = mkdtempSync(join(tmpdir(), 'rds-powers-'));
let [stack, node, world, sender, packages, controllers, coin, admin, origin] = [];

/** Deploys the token behind OpenZeppelin's proxy, whose administrator a plain key owns, and a vault of it that somebody has used. */
async function deploy() {
  const [deployer, owner, holder] = world.accounts;
  const code = await world.transact({ from: deployer, data: Coin.bytecode + encode(deployer) });
  const minted = ofCoin('mint(address,uint256)', holder, 2_000_000_000_000n);
  coin = await sender.deploy(packages.openZeppelin('TransparentUpgradeableProxy'), [code.contractAddress, owner, minted]);
  admin = `0x${(await world.rpc('eth_getStorageAt', coin, ADMIN_SLOT, 'latest')).slice(-40)}`;
  const vault = await world.deploy('Vault', { text: 'Power Vault' }, { text: 'pvPUSD' }, coin, owner);
  await world.transact({ from: holder, to: coin, data: ofCoin('approve(address,uint256)', vault, 2_000_000_000_000n) });
  await world.send(holder, 'Vault', vault, 'deposit(uint256,address)', 1_000_000_000_000n, holder);
}

async function giveAdminTo(account) {
  const [, owner] = world.accounts;
  await sender.send(admin, packages.openZeppelin('ProxyAdmin'), 'transferOwnership', [account], owner);
  await world.finalize();
}

before(async () => {
  [stack, node] = await allStarted(
    up('--data', 'demo', '--edge', 'workerd'),
    startNode('--timestamp', String(Math.floor(Date.now() / 1000) - TEN_DAYS)),
  );
  world = new World(node.url);
  world.accounts = await world.rpc('eth_accounts');
  [sender, packages] = [new Sender(world), new Packages(process.env.RDS_PROTOCOLS)];
  controllers = await governance(packages, sender);
  await deploy();
  await world.finalize();
  const asset = {
    kind: 'asset', observed_at: new Date(Date.now() - TEN_DAYS * 1000).toISOString(), source: 'e2e', id: 'pusd', chain_id: CHAIN,
    address: coin, symbol: 'PUSD', category: 'cdp_stablecoin',
  };
  writeFileSync(join(folder, 'asset.ndjson'), JSON.stringify(asset));
  await verb(stack, 'ingest', join(folder, 'asset.ndjson'));
  const read = { every_seconds: 1, protocols: { [PROTOCOL]: { control: true } }, discovery: { protocol: PROTOCOL } };
  const chain = { chain_id: CHAIN, quorum: 1, trust_one_operator: true, providers: [{ url: node.url, requests_per_second: 10_000 }], read };
  writeFileSync(join(folder, 'chains.json'), JSON.stringify({ chains: [chain] }));
  origin = await serveBeside(stack, { RDS_CHAIN_PROVIDERS: join(folder, 'chains.json') });
  await until('the origin is ready', PATIENCE, origin.isReady);
});

after(async () => {
  await origin?.stop();
  node?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = async (target) => {
  const answer = await fetch(stack.edge + target, { headers: { authorization: `Bearer ${stack.keys.data}` } });
  return (await answer.json()).data;
};

/** What counts about the asset, as `{question: answer}`. */
const counting = ({ answers }) =>
  Object.fromEntries((answers?.answers ?? []).filter(({ counts }) => counts).map(({ question, answer }) => [question, answer]));

/** The asset's detail, once the answers that count are these. */
const assetThat = (what, answers) =>
  until(what, PATIENCE, async () => {
    // A cycle needs a new final block.
    await world.finalize(1);
    const asset = await get(`/v1/assets/${CHAIN}/${coin}`);
    const found = asset && counting(asset);
    return asset && Object.entries(answers).every(([question, answer]) => found[question] === answer) ? asset : undefined;
  });

/** Every answer that counts has evidence that the node confirms, and the published dimension follows from the answers. */
async function confirm(asset, value) {
  for (const { source_kind, source_url, given_by, evidence } of asset.answers.answers) {
    assert.deepEqual([source_kind, source_url, given_by], ['chain', `eip155:${CHAIN}:${coin}`, `chain:${CHAIN}`]);
    assert.ok(evidence.agreed === 1 && evidence.asked === 1 && evidence.chain_id === CHAIN && evidence.calls.length > 0);
  }
  const report = await readAgain(JSON.stringify({ data: asset }), [node.url]);
  assert.equal(report.outcome, 'confirmed', JSON.stringify(report, null, 1));
  assert.deepEqual([report.inputs.length, report.stated, report.score], [5, 0, null]);
  assert.equal(asset.dimensions.governance_controls, value);
  const { dimensions } = new AssetThirdParty(await get('/v1/methodology')).answered(asset, Date.now()).now;
  assert.equal(dimensions.governance_controls, value);
}

/** Runs the verifier's program on the asset; resolves to its exit status and output. */
const run = (asset) =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [PROGRAM, '--rpc', node.url], (fault, out) => resolve({ status: fault?.code ?? 0, out }));
    child.stdin.end(JSON.stringify({ data: asset }));
  });

const KEY = { upgrade: 'eoa', delay: 'none', holders: 'one', holder_power: 'rewrite', mint_control: 'one_key' };
const SAFE = { ...KEY, upgrade: 'multisig_delayed', delay: 'ge_2d', holders: 'ge_3' };

describe('a token that a vault holds', () => {
  test('answers the questionnaire as its contracts show it', async () => {
    const asset = await assetThat('the powers are read', KEY);
    await confirm(asset, 1.4);
    const { note } = asset.answers.answers.find(({ question }) => question === 'upgrade');
    assert.match(note, new RegExp(`administrator of the proxy ${admin}, owner ${world.accounts[1]}, 1 of 1 keys, after 0 s`));
    const { status, out } = await run(asset);
    assert.deepEqual([status, /confirmed +governance_controls\.upgrade = "eoa"/.test(out)], [0, true], out);
  });

  test('is contradicted by a node if a published answer was changed', async () => {
    const asset = await assetThat('the powers are read', KEY);
    const { evidence } = asset.answers.answers.find(({ question }) => question === 'mint_control');
    evidence.calls[0].answer = evidence.calls[0].answer.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    assert.equal((await run(asset)).status, 1);
  });

  test('is followed when its administrator moves behind a Safe and a timelock, and its value with it', async () => {
    await giveAdminTo(controllers.timelock);
    const asset = await assetThat('the timelock counts', SAFE);
    const old = asset.answers.answers.filter(({ withdrawn_at }) => withdrawn_at !== null);
    assert.deepEqual(old.map(({ answer }) => answer).sort(), ['eoa', 'none', 'one'], 'the answers of before are withdrawn');
    await confirm(asset, 6.45);
  });
});
