// A small world on a local node in which something happens, for `cargo xtask up --chain`: four vaults of one token, controlled in four ways.
//
//   node live.mjs prepare URL RECORD    deploys the world unless the node has it, and writes its addresses to the file RECORD
//   node live.mjs move URL RECORD       changes one vault every ten seconds, until it is stopped
//
// Each block is kept by the node, so a move is one transaction where it can be.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { World } from './world.mjs';

/** A block is final once this many follow it. They are mined after every move. */
const FINAL_AFTER = 1;
/** Milliseconds between two moves. */
const PAUSE = 10_000;
/** What the feed promises, and after how many seconds it gives its answer again. */
const HEARTBEAT = 3_600;
const ANSWER_EVERY = 600;
const DOLLAR = 1_000_000n;
const ALL = 2n ** 256n - 1n;
/** What the holder has at the beginning. */
const RICHES = 1_000_000_000n * DOLLAR;
const TWO_DAYS = 172_800;

/** The vaults with their deposits in dollars, and who owns each. */
const VAULTS = [
  { name: 'Harbour Reserve', symbol: 'hrWUSD', dollars: 24_000_000n, owner: 'timelock' },
  { name: 'Council Notes', symbol: 'cnWUSD', dollars: 9_000_000n, owner: 'multisig' },
  { name: 'Lantern Credit', symbol: 'lcWUSD', dollars: 6_000_000n, owner: 'lender' },
  { name: 'Pebble Solo', symbol: 'psWUSD', dollars: 1_200_000n, owner: 'keeper' },
];

const cast = ([deployer, holder, lender, keeper, ...council]) => ({ deployer, holder, lender, keeper, council: council.slice(0, 3) });
const now = () => Math.floor(Date.now() / 1000);
/** A part of an amount, from `low` to `high` per ten thousand. */
const part = (amount, low, high) => (amount * BigInt(low + Math.floor(Math.random() * (high - low + 1)))) / 10_000n;

class LiveWorld extends World {
  static async open(url) {
    const world = new LiveWorld(url);
    world.people = cast((world.accounts = await world.rpc('eth_accounts')));
    return world;
  }

  async read(contract, to, signature, ...values) {
    return BigInt(await this.rpc('eth_call', { to, data: this.data(contract, signature, ...values) }, 'latest'));
  }

  /** Makes the newest change final. */
  settle() {
    return this.rpc('anvil_mine', `0x${FINAL_AFTER.toString(16)}`);
  }

  deposit(vault, amount) {
    const { holder } = this.people;
    return this.send(holder, 'Vault', vault.address, 'deposit(uint256,address)', amount, holder);
  }

  async build() {
    const { deployer, holder, lender, keeper, council } = this.people;
    this.token = await this.deploy('Token', { text: 'World Dollar' }, { text: 'WUSD' }, 6);
    this.feed = await this.deploy('Feed', { text: 'WUSD / USD' }, 100_000_000);
    const multisig = await this.deploy('Multisig', ...council, 2);
    const timelock = await this.deploy('Timelock', multisig, TWO_DAYS);
    const owners = { timelock, multisig, lender, keeper };
    await this.send(deployer, 'Token', this.token, 'mint(address,uint256)', holder, RICHES);
    this.vaults = [];
    for (const { name, symbol, dollars, owner } of VAULTS) {
      const address = await this.deploy('Vault', { text: name }, { text: symbol }, this.token, owners[owner]);
      const vault = { name, address, owner, dollars: Number(dollars) };
      this.vaults.push(vault);
      // The holder deposits, and the lender pays back.
      for (const account of [holder, lender]) await this.send(account, 'Token', this.token, 'approve(address,uint256)', address, ALL);
      await this.deposit(vault, dollars * DOLLAR);
    }
  }

  record() {
    const { token, feed, vaults } = this;
    return { chain_id: 31_337, final_after_blocks: FINAL_AFTER, token, feed, heartbeat_seconds: HEARTBEAT, vaults };
  }

  vault(owner) {
    return this.vaults.find((vault) => vault.owner === owner);
  }

  /** Somebody deposits if there are fewer shares than at the beginning, and redeems otherwise. */
  async trade(vault) {
    const supply = await this.read('Vault', vault.address, 'totalSupply()');
    const usual = BigInt(vault.dollars) * 10n ** 18n;
    if (supply < usual) return this.deposit(vault, part(BigInt(vault.dollars) * DOLLAR, 50, 400));
    const { holder } = this.people;
    return this.send(holder, 'Vault', vault.address, 'redeem(uint256,address,address)', part(usual, 50, 400), holder, holder);
  }

  /** The vault earns a little, so that its share is worth more: about two percent a day, because a share shows six decimals only. */
  async earn(vault) {
    const total = await this.read('Vault', vault.address, 'totalAssets()');
    return this.send(this.people.deployer, 'Token', this.token, 'mint(address,uint256)', vault.address, part(total, 0, 1) + total / 100_000n);
  }

  /** The lender gets a part of the assets, or all that was lent comes back. */
  async lendOrRepay(vault) {
    const { lender } = this.people;
    const lent = await this.read('Vault', vault.address, 'lent()');
    if (lent === 0n) {
      const total = await this.read('Vault', vault.address, 'totalAssets()');
      return this.send(lender, 'Vault', vault.address, 'lend(address,uint256)', lender, part(total, 2_000, 6_000));
    }
    return this.send(lender, 'Vault', vault.address, 'repay(uint256)', lent);
  }

  /** The keeper leaves room for more deposits. */
  async limit(vault) {
    const total = await this.read('Vault', vault.address, 'totalAssets()');
    return this.send(this.people.keeper, 'Vault', vault.address, 'setCap(uint256)', total + part(total, 1_000, 9_000));
  }

  /** The feed promises an answer within its heartbeat. */
  async answer() {
    const price = 100_000_000 + Math.round((Math.random() - 0.5) * 40_000);
    await this.send(this.people.deployer, 'Feed', this.feed, 'set(int256)', price);
  }

  /** Everything that happens, in turns. */
  turns() {
    const [harbour, council, lantern, pebble] = ['timelock', 'multisig', 'lender', 'keeper'].map((owner) => this.vault(owner));
    return [
      () => this.trade(harbour),
      () => this.lendOrRepay(lantern),
      () => this.earn(council),
      () => this.trade(pebble),
      () => this.earn(harbour),
      () => this.trade(council),
      () => this.earn(lantern),
      () => this.limit(pebble),
      () => this.trade(lantern),
    ];
  }
}

/** The addresses that an earlier run recorded, if the node still has their contracts. */
async function recorded(world, file) {
  if (!existsSync(file)) return undefined;
  const record = JSON.parse(readFileSync(file, 'utf8'));
  const codes = await Promise.all(record.vaults.map(({ address }) => world.rpc('eth_getCode', address, 'latest')));
  return codes.every((code) => code !== '0x') ? record : undefined;
}

async function prepare(url, file) {
  const world = await LiveWorld.open(url);
  let record = await recorded(world, file);
  if (!record) {
    await world.build();
    record = world.record();
    writeFileSync(`${file}.next`, `${JSON.stringify(record, null, 2)}\n`);
    renameSync(`${file}.next`, file);
  }
  // The node's clock goes on from where the chain stopped, or began; from here on it is the present. A node that was started again answers
  // only at blocks that it has mined since.
  const { timestamp } = await world.rpc('eth_getBlockByNumber', 'latest', false);
  await world.rpc('evm_setNextBlockTimestamp', Math.max(now(), Number(timestamp) + 1));
  Object.assign(world, record);
  await world.answer();
  await world.settle();
}

async function move(url, file) {
  const world = Object.assign(await LiveWorld.open(url), JSON.parse(readFileSync(file, 'utf8')));
  let answered = now();
  for (;;) {
    for (const turn of world.turns()) {
      if (now() - answered >= ANSWER_EVERY) {
        await world.answer();
        answered = now();
      }
      await turn();
      await world.settle();
      await pause(PAUSE);
    }
  }
}

const [, , what, url, file] = argv;
await { prepare, move }[what](url, file);
