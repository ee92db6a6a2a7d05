// Published contracts on a local node: Morpho Blue, a pool of Aave v3, a Safe, and OpenZeppelin's timelock; and vaults of chain/world that
// use them. The published contracts come from npm packages that the tests install (RDS_PROTOCOLS); none of them is part of this repository.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { encodeDeployData, encodeFunctionData, keccak256, parseAbi, toFunctionSelector, toHex, zeroAddress } from 'viem';
import { World, encode } from '../chain/world/world.mjs';

const contractsOf = (name) => JSON.parse(readFileSync(new URL(`../chain/world/${name}.json`, import.meta.url), 'utf8'));
const own = { ...contractsOf('lending'), ...contractsOf('allocating') };
const MAX = 2n ** 256n - 1n;
const DAY = 86_400n;
const tokens = { abi: parseAbi(['function mint(address,uint256)', 'function approve(address,uint256)']) };

/** Contracts of packages, by path. */
export class Packages {
  constructor(folder) {
    this.folder = folder;
    this.require = createRequire(join(folder, '..', 'package.json'));
  }

  openZeppelin(name) {
    return this.require(`@openzeppelin/contracts/build/contracts/${name}.json`);
  }

  safe(path) {
    return this.require(`@safe-global/safe-smart-account/build/artifacts/contracts/${path}.json`);
  }

  /** An artifact of @aave/core-v3; `libraries` are the addresses to link. */
  aave(path, libraries = {}) {
    const name = path.split('/').at(-1);
    const { abi, bytecode, linkReferences } = this.require(`@aave/core-v3/artifacts/contracts/${path}.sol/${name}.json`);
    let linked = bytecode;
    for (const [library, places] of Object.values(linkReferences).flatMap(Object.entries)) {
      for (const { start } of places) {
        const at = 2 + 2 * start;
        linked = linked.slice(0, at) + libraries[library].slice(2) + linked.slice(at + 40);
      }
    }
    return { abi, bytecode: linked };
  }

  /** Morpho Blue, compiled from the package's sources once: that takes half a minute. */
  morpho() {
    const kept = join(this.folder, '..', 'morpho.json');
    if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'));
    const content = (name) => readFileSync(join(this.folder, '@morpho-org/morpho-blue/src', name), 'utf8');
    const names = ['Morpho.sol', 'mocks/IrmMock.sol'];
    const input = {
      language: 'Solidity',
      sources: Object.fromEntries(names.map((name) => [name, { content: content(name) }])),
      settings: {
        optimizer: { enabled: true, runs: 999_999 },
        viaIR: true,
        outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
      },
    };
    const output = JSON.parse(this.require('solc').compile(JSON.stringify(input), { import: (name) => ({ contents: content(name) }) }));
    const fault = output.errors?.find(({ severity }) => severity === 'error');
    if (fault) throw new Error(fault.formattedMessage);
    const of = (name) => {
      const { abi, evm } = output.contracts[name][name.split('/').at(-1).replace('.sol', '')];
      return { abi, bytecode: `0x${evm.bytecode.object}` };
    };
    const contracts = { morpho: of('Morpho.sol'), irm: of('mocks/IrmMock.sol') };
    writeFileSync(`${kept}.new`, JSON.stringify(contracts));
    renameSync(`${kept}.new`, kept);
    return contracts;
  }
}

/** Sends transactions with the ABI of a contract. */
export class Sender {
  constructor(world) {
    this.world = world;
    [this.admin] = world.accounts;
  }

  async deploy({ abi, bytecode }, args = []) {
    const code = bytecode.startsWith('0x') ? bytecode : `0x${bytecode}`;
    const data = encodeDeployData({ abi, bytecode: code, args });
    return (await this.world.transact({ from: this.admin, data, gas: '0x1c9c380' })).contractAddress;
  }

  /** Deploys a contract of chain/world/Lending.sol or Allocating.sol. */
  async deployOwn(name, ...values) {
    const data = own[name].bytecode + encode(...values);
    return (await this.world.transact({ from: this.admin, data, gas: '0x1c9c380' })).contractAddress;
  }

  /** Calls a function of a contract of chain/world/Lending.sol or Allocating.sol. */
  sendOwn(name, to, signature, ...values) {
    const data = `0x${own[name].functions[signature]}${encode(...values)}`;
    return this.world.transact({ from: this.admin, to, data });
  }

  send(to, { abi }, functionName, args = [], from = this.admin) {
    return this.world.transact({ from, to, data: encodeFunctionData({ abi, functionName, args }), gas: '0x1c9c380' });
  }

  async read(to, { abi }, functionName, args = []) {
    const data = encodeFunctionData({ abi, functionName, args });
    const answer = await this.world.rpc('eth_call', { to, data }, 'latest');
    return `0x${answer.slice(-40)}`;
  }
}

/** A Safe of three of five accounts, and a timelock of two days whose proposer it is. */
export async function governance(packages, sender) {
  const { accounts } = sender.world;
  const [code, factory] = [packages.safe('Safe.sol/Safe'), packages.safe('proxies/SafeProxyFactory.sol/SafeProxyFactory')];
  const [singleton, factoryAt] = [await sender.deploy(code), await sender.deploy(factory)];
  const setup = [accounts.slice(2, 7), 3n, zeroAddress, '0x', zeroAddress, zeroAddress, 0n, zeroAddress];
  const init = encodeFunctionData({ abi: code.abi, functionName: 'setup', args: setup });
  const { logs } = await sender.send(factoryAt, factory, 'createProxyWithNonce', [singleton, init, 1n]);
  const created = keccak256(toHex('ProxyCreation(address,address)'));
  const safe = `0x${logs.find(({ topics }) => topics[0] === created).topics[1].slice(26)}`;
  const timelock = await sender.deploy(packages.openZeppelin('TimelockController'), [2n * DAY, [safe], [zeroAddress], zeroAddress]);
  return { safe, timelock };
}

/** Morpho Blue with a market that is half lent, one of another price source, and the idle market. */
async function morphoBlue(packages, sender, { usd, eth, weth }) {
  const contracts = packages.morpho();
  const morpho = await sender.deploy(contracts.morpho, [sender.admin]);
  const irm = await sender.deploy(contracts.irm);
  const [lltv, lowLltv] = [860_000_000_000_000_000n, 625_000_000_000_000_000n];
  for (const model of [irm, zeroAddress]) await sender.send(morpho, contracts.morpho, 'enableIrm', [model]);
  for (const level of [lltv, lowLltv, 0n]) await sender.send(morpho, contracts.morpho, 'enableLltv', [level]);
  const factory = await sender.deployOwn('OracleFactory');
  const price = 3_000n * 10n ** 24n;
  const made = async (vault, feed) => {
    const before = await sender.world.rpc('eth_getTransactionCount', factory, 'latest');
    await sender.sendOwn('OracleFactory', factory, 'make(uint256,address,address)', price, vault, feed);
    return contractOf(factory, BigInt(before));
  };
  const known = await made(0n, weth.feed);
  const liar = await sender.deployOwn('MarketOracle', price, 0n, weth.feed);
  const market = (collateralToken, oracle, model, level) => ({ loanToken: usd, collateralToken, oracle, irm: model, lltv: level });
  const markets = [market(eth, known, irm, lltv), market(eth, liar, irm, lowLltv), market(zeroAddress, zeroAddress, zeroAddress, 0n)];
  for (const it of markets) await sender.send(morpho, contracts.morpho, 'createMarket', [it]);
  for (const token of [usd, eth]) await sender.send(token, tokens, 'approve', [morpho, MAX]);
  await sender.send(morpho, contracts.morpho, 'supply', [markets[0], 1_000_000_000_000n, 0n, sender.admin, '0x']);
  await sender.send(morpho, contracts.morpho, 'supplyCollateral', [markets[0], 10n ** 21n, sender.admin, '0x']);
  await sender.send(morpho, contracts.morpho, 'borrow', [markets[0], 500_000_000_000n, 0n, sender.admin, sender.admin]);
  return { morpho, factory, oracles: { known, liar }, markets };
}

/** Address of the contract that `creator` makes with this nonce, below 128. */
function contractOf(creator, nonce) {
  const list = `94${creator.slice(2)}${nonce === 0n ? '80' : nonce.toString(16).padStart(2, '0')}`;
  const prefix = (0xc0 + list.length / 2).toString(16);
  return `0x${keccak256(`0x${prefix}${list}`).slice(-40)}`;
}

/** A pool of Aave v3 with two reserves, of which one is half lent and the other frozen and paused. */
async function aave(packages, sender, { usd, eth, usdFeed, weth }) {
  const libraries = {};
  const logic = ['BorrowLogic', 'BridgeLogic', 'EModeLogic', 'LiquidationLogic', 'PoolLogic', 'SupplyLogic', 'ConfiguratorLogic', 'FlashLoanLogic'];
  for (const name of logic) libraries[name] = await sender.deploy(packages.aave(`protocol/libraries/logic/${name}`, libraries));
  const { admin } = sender;
  const provider = packages.aave('protocol/configuration/PoolAddressesProvider');
  const addresses = await sender.deploy(provider, ['test', admin]);
  const set = (name, ...args) => sender.send(addresses, provider, name, args);
  await set('setACLAdmin', admin);
  const acl = packages.aave('protocol/configuration/ACLManager');
  const aclAt = await sender.deploy(acl, [addresses]);
  await set('setACLManager', aclAt);
  for (const role of ['addPoolAdmin', 'addAssetListingAdmin', 'addEmergencyAdmin']) await sender.send(aclAt, acl, role, [admin]);
  const pool = packages.aave('protocol/pool/Pool', libraries);
  await set('setPoolImpl', await sender.deploy(pool, [addresses]));
  const configurator = packages.aave('protocol/pool/PoolConfigurator', libraries);
  await set('setPoolConfiguratorImpl', await sender.deploy(configurator));
  const poolAt = await sender.read(addresses, provider, 'getPool');
  const configure = await sender.read(addresses, provider, 'getPoolConfigurator');
  const dataProvider = packages.aave('misc/AaveProtocolDataProvider');
  const dataAt = await sender.deploy(dataProvider, [addresses]);
  await set('setPoolDataProvider', dataAt);
  const oracle = await sender.deploy(packages.aave('misc/AaveOracle'), [
    addresses, [usd, eth], [usdFeed, weth.aggregator], zeroAddress, zeroAddress, 100_000_000n,
  ]);
  await set('setPriceOracle', oracle);
  const tokenized = (name) => sender.deploy(packages.aave(`protocol/tokenization/${name}`), [poolAt]);
  const [supply, stable, variable] = [await tokenized('AToken'), await tokenized('StableDebtToken'), await tokenized('VariableDebtToken')];
  const ray = 10n ** 27n;
  const rates = [(ray * 8n) / 10n, 0n, (ray * 4n) / 100n, (ray * 75n) / 100n, 0n, 0n, 0n, 0n, 0n];
  const strategy = await sender.deploy(packages.aave('protocol/pool/DefaultReserveInterestRateStrategy'), [addresses, ...rates]);
  const reserve = (underlyingAsset, underlyingAssetDecimals, name) => ({
    aTokenImpl: supply, stableDebtTokenImpl: stable, variableDebtTokenImpl: variable, underlyingAssetDecimals, underlyingAsset,
    interestRateStrategyAddress: strategy, treasury: admin, incentivesController: zeroAddress, params: '0x10',
    aTokenName: `a${name}`, aTokenSymbol: `a${name}`, variableDebtTokenName: `v${name}`, variableDebtTokenSymbol: `v${name}`,
    stableDebtTokenName: `s${name}`, stableDebtTokenSymbol: `s${name}`,
  });
  const change = (name, ...args) => sender.send(configure, configurator, name, args);
  await change('initReserves', [reserve(usd, 6, 'USD'), reserve(eth, 18, 'ETH')]);
  for (const token of [usd, eth]) {
    await change('configureReserveAsCollateral', token, 7_500n, 8_000n, 10_500n);
    await change('setReserveBorrowing', token, true);
    await change('setReserveFactor', token, 1_000n);
    await change('setSupplyCap', token, 2_000_000n);
    await sender.send(token, tokens, 'approve', [poolAt, MAX]);
  }
  await change('setEModeCategory', 1, 9_300, 9_500, 10_100, zeroAddress, 'stable');
  await change('setAssetEModeCategory', usd, 1);
  await sender.send(poolAt, pool, 'supply', [eth, 1_000n * 10n ** 18n, admin, 0]);
  await sender.send(poolAt, pool, 'supply', [usd, 1_000_000_000_000n, admin, 0]);
  await sender.send(poolAt, pool, 'borrow', [usd, 500_000_000_000n, 2n, 0, admin]);
  await change('setReserveFreeze', eth, true);
  await change('setReservePause', eth, true);
  return { pool: poolAt, dataProvider: dataAt, change };
}

/** What the curator of Morpho Vault V2 can do after a delay, and what the service counts as a risk. */
const RISKY = [
  'addAdapter(address)', 'removeAdapter(address)', 'increaseAbsoluteCap(bytes,uint256)', 'increaseRelativeCap(bytes,uint256)',
  'setReceiveSharesGate(address)', 'setSendSharesGate(address)', 'setReceiveAssetsGate(address)', 'setForceDeallocatePenalty(address,uint256)',
];
export const delayOf = (signature) => BigInt(toFunctionSelector(signature).padEnd(66, '0'));

/**
 * A vault with the functions of Morpho Vault V2: of 1,000,000 half is in a vault of a curator, 200,000 in a market of the unknown oracle,
 * 100,000 in the idle market, and the rest is idle. Deposits go to the curator's vault.
 */
async function allocating(sender, { usd, safe, blue, deposit }) {
  const inner = await sender.deployOwn('CuratedVault', { text: 'Inner Vault' }, usd, safe, blue.morpho, DAY);
  const vault = await sender.deployOwn('AllocatingVault', { text: 'Allocating Vault' }, usd, safe);
  const adapters = {
    vault: await sender.deployOwn('VaultAdapter', vault, inner),
    market: await sender.deployOwn('MarketAdapter', vault, blue.morpho),
    other: await sender.deployOwn('OtherAdapter', vault),
  };
  const send = (signature, ...values) => sender.sendOwn('AllocatingVault', vault, signature, ...values);
  await deposit(vault, 1_000_000_000_000n);
  for (const adapter of [adapters.vault, adapters.market]) await send('addAdapter(address)', adapter);
  for (const signature of RISKY) await send('setTimelock(bytes4,uint256)', delayOf(signature), 3n * DAY);
  await send('setCaps(address,uint256,uint256)', adapters.vault, 10n ** 13n, 10n ** 18n);
  await send('setLiquidityAdapter(address)', adapters.vault);
  await send('allocate(address,uint256)', adapters.vault, 500_000_000_000n);
  const words = (params) => Object.values(params).map((value) => BigInt(value));
  const market = 'allocateToMarket(address,(address,address,address,address,uint256),uint256)';
  await send(market, adapters.market, ...words(blue.markets[1]), 200_000_000_000n);
  await send(market, adapters.market, ...words(blue.markets[2]), 100_000_000_000n);
  const idle = 'allocate((address,address,address,address,uint256),uint256)';
  await sender.sendOwn('CuratedVault', inner, idle, ...words(blue.markets[2]), 500_000_000_000n);
  return { vault, inner, adapters, send };
}

/** The first of three addresses. */
async function supplyTokenOf(world, dataProvider, token) {
  const data = encodeFunctionData({ abi: parseAbi(['function getReserveTokensAddresses(address)']), args: [token] });
  return `0x${(await world.rpc('eth_call', { to: dataProvider, data }, 'latest')).slice(26, 66)}`;
}

/** Deploys everything; resolves to the addresses. Everything is final at the end. */
export async function deployProtocols(url) {
  const packages = new Packages(process.env.RDS_PROTOCOLS);
  const world = new World(url);
  world.accounts = await world.rpc('eth_accounts');
  const sender = new Sender(world);
  const token = (name, symbol, decimals) => world.deploy('Token', { text: name }, { text: symbol }, decimals);
  const [usd, eth] = [await token('World Dollar', 'WUSD', 6), await token('World Ether', 'WETH', 18)];
  for (const it of [usd, eth]) await sender.send(it, tokens, 'mint', [sender.admin, 10n ** 25n]);
  const [usdFeed, ethFeed] = [await world.deploy('Feed', { text: 'WUSD / USD' }, 100_000_000), await world.deploy('Feed', { text: 'WETH / USD' }, 300_000_000_000)];
  const aggregator = packages.aave('mocks/oracle/CLAggregators/MockAggregator');
  const weth = { feed: ethFeed, aggregator: await sender.deploy(aggregator, [300_000_000_000n]) };
  const usdAggregator = await sender.deploy(aggregator, [100_000_000n]);
  const { safe, timelock } = await governance(packages, sender);
  const blue = await morphoBlue(packages, sender, { usd, eth, weth });
  const lending = await aave(packages, sender, { usd, eth, usdFeed: usdAggregator, weth });

  const deposit = async (vault, assets) => {
    await sender.send(usd, tokens, 'approve', [vault, assets]);
    await world.send(sender.admin, 'Vault', vault, 'deposit(uint256,address)', assets, sender.admin);
  };
  // Governed by the real timelock, whose proposer is the Safe.
  const plain = await world.deploy('Vault', { text: 'Plain Vault' }, { text: 'pvWUSD' }, usd, timelock);
  const curated = await sender.deployOwn('CuratedVault', { text: 'Curated Vault' }, usd, safe, blue.morpho, DAY);
  const credit = await sender.deployOwn('CreditVault', { text: 'Credit Vault' }, usd, safe, usdFeed);
  const strategies = await sender.deployOwn('StrategyVault', { text: 'Strategy Vault' }, usd, safe);
  const request = await sender.deployOwn('RequestVault', { text: 'Request Vault' }, usd, safe);
  const market = await sender.deployOwn('Market', usd, usdFeed, safe);
  const wethVault = await world.deploy('Vault', { text: 'Ether Vault' }, { text: 'pvWETH' }, eth, safe);
  for (const vault of [plain, curated, credit, strategies, request]) await deposit(vault, 1_000_000_000_000n);

  const shares = [500_000_000_000n, 300_000_000_000n, 200_000_000_000n];
  for (const [place, params] of blue.markets.entries()) {
    const words = Object.values(params).map((value) => BigInt(value));
    await sender.sendOwn('CuratedVault', curated, 'allocate((address,address,address,address,uint256),uint256)', ...words, shares[place]);
  }
  await sender.sendOwn('CreditVault', credit, 'accept(address,uint16,uint16)', wethVault, 8_000, 8_500);
  await sender.sendOwn('CreditVault', credit, 'borrow(uint256,address)', 600_000_000_000n, world.accounts[1]);
  await sender.sendOwn('StrategyVault', strategies, 'invest(address,uint256,bool)', plain, 700_000_000_000n, 1);
  await sender.sendOwn('Market', market, 'lend(uint256,uint256)', 2_000_000_000_000n, 1_000_000_000_000n);
  // 3,000,000 USD of ether and 1,000,000 of dollars.
  await sender.sendOwn('Market', market, 'secure(address,address,uint128)', eth, ethFeed, 1_000n * 10n ** 18n);
  await sender.sendOwn('Market', market, 'secure(address,address,uint128)', usd, usdFeed, 1_000_000_000_000n);
  const allocator = await allocating(sender, { usd, safe, blue, deposit });
  await world.finalize();
  const supplyTokens = { usd: await supplyTokenOf(world, lending.dataProvider, usd), eth: await supplyTokenOf(world, lending.dataProvider, eth) };
  const vaults = { plain, curated, credit, strategies, request, market, wethVault };
  return { world, sender, tokens: { usd, eth }, feeds: { usd: usdFeed, eth: ethFeed, aggregator: weth.aggregator }, safe, timelock, blue, lending, allocator, supplyTokens, vaults };
}
