// Deploys the small world of World.sol on a local node (anvil), and changes it. As a program: node world.mjs URL prints the addresses.

import { readFileSync } from 'node:fs';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';

const contracts = JSON.parse(readFileSync(new URL('world.json', import.meta.url), 'utf8'));

const word = (value) => BigInt(value).toString(16).padStart(64, '0');
const text = (value) => {
  const bytes = Buffer.from(value);
  return word(bytes.length) + bytes.toString('hex').padEnd(Math.ceil(bytes.length / 32) * 64, '0');
};

/** The arguments as the ABI encodes them: a text is `{ text }`, everything else is one word. */
export function encode(...values) {
  let [head, tail] = ['', ''];
  for (const value of values) {
    if (typeof value === 'object' && 'text' in value) {
      head += word(values.length * 32 + tail.length / 2);
      tail += text(value.text);
    } else {
      head += word(value);
    }
  }
  return head + tail;
}

export class World {
  #id = 0;

  constructor(url) {
    this.url = url;
  }

  async rpc(method, ...params) {
    this.#id += 1;
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#id, method, params });
    const answer = await fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = await answer.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Sends a transaction of an unlocked account; resolves to its receipt. */
  async transact(transaction) {
    const hash = await this.rpc('eth_sendTransaction', { gas: '0x989680', ...transaction });
    // The node mines each transaction at once, but may answer before it has done so.
    let receipt = null;
    while (receipt === null) receipt = await this.rpc('eth_getTransactionReceipt', hash);
    if (receipt.status !== '0x1') throw new Error(`the transaction ${hash} failed`);
    return receipt;
  }

  /** Deploys a contract of World.sol; resolves to its address. */
  async deploy(name, ...values) {
    const { contractAddress } = await this.transact({ from: this.accounts[0], data: contracts[name].bytecode + encode(...values) });
    return contractAddress;
  }

  /** Calls a function, such as `mint(address,uint256)`, in a transaction. */
  send(from, contract, to, signature, ...values) {
    return this.transact({ from, to, data: this.data(contract, signature, ...values) });
  }

  data(contract, signature, ...values) {
    return `0x${contracts[contract].functions[signature]}${encode(...values)}`;
  }

  /** Mines blocks of twelve seconds. Everything before the last 64 is final; so is the present with the default. */
  finalize(blocks = 96) {
    return this.rpc('anvil_mine', `0x${blocks.toString(16)}`, '0xc');
  }

  /** Deploys a token with its feed, a timelock of two days, and a vault that the timelock owns and somebody has used. */
  static async create(url) {
    const world = new World(url);
    world.accounts = await world.rpc('eth_accounts');
    const [deployer, admin, holder] = world.accounts;
    world.token = await world.deploy('Token', { text: 'World Dollar' }, { text: 'WUSD' }, 6);
    world.feed = await world.deploy('Feed', { text: 'WUSD / USD' }, 100_000_000);
    world.timelock = await world.deploy('Timelock', admin, 172_800);
    world.vault = await world.deploy('Vault', { text: 'World Vault' }, { text: 'wvWUSD' }, world.token, world.timelock);
    await world.send(deployer, 'Token', world.token, 'mint(address,uint256)', holder, 2_000_000_000_000n);
    await world.send(holder, 'Token', world.token, 'approve(address,uint256)', world.vault, 2_000_000_000_000n);
    await world.send(holder, 'Vault', world.vault, 'deposit(uint256,address)', 1_000_001_000_000n, holder);
    await world.send(holder, 'Vault', world.vault, 'redeem(uint256,address,address)', 10n ** 18n, holder, holder);
    await world.finalize();
    return world;
  }

  /** Makes the timelock give the vault to an account. The two days pass on the node. */
  async giveVaultTo(account) {
    const [, admin] = this.accounts;
    const call = this.data('Vault', 'transferOwnership(address)', account);
    // Two words, then the bytes.
    const bytes = call.slice(2);
    const values = encode(this.vault, 64) + word(bytes.length / 2) + bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
    const of = (signature) => `0x${contracts.Timelock.functions[signature]}${values}`;
    await this.transact({ from: admin, to: this.timelock, data: of('queue(address,bytes)') });
    await this.rpc('evm_increaseTime', 172_801);
    await this.transact({ from: admin, to: this.timelock, data: of('execute(address,bytes)') });
    await this.finalize();
  }
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  const { token, feed, timelock, vault } = await World.create(argv[2]);
  console.log(JSON.stringify({ token, feed, timelock, vault }));
}
