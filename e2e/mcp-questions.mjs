// Twenty questions about the demo market, each with the tool call that answers it and the facts that the answer must contain.
//
// node mcp-questions.mjs ADDRESS [KEY] asks a running service, and prints question, call and facts for a person. The test
// `mcp.test.mjs` asks the same. The expected facts come from the interface itself or are fixed features of the demo market.

import { pathToFileURL } from 'node:url';

const WILLOW = 'lanternmoss-31337-0xc516dd999378982aac393e1de92f8eff568cc06d';
const keyOf = (id) => id.split('-').slice(-2).join(':');
const byValue = (one, other) => other.tvl_usd - one.tvl_usd;
const names = (rows) => rows.map(({ name }) => name);

/**
 * The market as the interface shows it, for the expected facts.
 *
 * @param read resolves to the JSON body of a GET request
 */
export async function market(read) {
  const vaults = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const { data, meta } = await read(`/v1/vaults?limit=100&page=${page}`);
    vaults.push(...data);
    pages = meta.totalPages;
  }
  const named = (name) => vaults.find((row) => row.name === name);
  return { vaults: vaults.toSorted(byValue), named, read };
}

/**
 * Each question: the tool, its arguments, `facts` that the answer gives, and the `expected` ones. `earlier` are the answers so far, by tool.
 */
export const QUESTIONS = [
  {
    question: 'Which Prime vaults take PNY, the largest first?',
    tool: 'search_vaults',
    arguments: () => ({ asset: ['PNY'], riskTier: ['prime'], sortBy: 'tvl_usd', limit: 20 }),
    facts: ({ data }) => names(data),
    expected: ({ vaults }) => names(vaults.filter((row) => row.asset_symbol === 'PNY' && row.risk_tier === 'Prime')).slice(0, 20),
  },
  {
    question: 'What does Willow Bridge 41 pay, and can I deposit?',
    tool: 'get_vault',
    arguments: () => ({ vault: WILLOW }),
    facts: ({ data: { vault } }) => [vault.name, vault.apr_net, vault.deposit_status],
    expected: ({ vaults }) => vaults.filter(({ id }) => id === WILLOW).map((row) => [row.name, row.apr_net, row.deposit_status]).flat(),
  },
  {
    question: 'Why is Willow Bridge 41 rated Core?',
    tool: 'explain_score',
    arguments: () => ({ vault: WILLOW }),
    facts: ({ data: { vault } }) => [vault.risk_tier, vault.total_score, ...vault.score_provenance.caps.filter(({ binding }) => binding).map(({ id }) => id)],
    expected: ({ named }) => ['Core', named('Willow Bridge 41').total_score, 'asset_drag'],
  },
  {
    question: 'Why did Slowriver Mirage Mix fall?',
    tool: 'vault_history',
    arguments: ({ named }) => ({ vault: named('Slowriver Mirage Mix').id, view: 'scores' }),
    facts: ({ data }) => {
      const fall = data.findLast(({ prev_score: before, new_score: after }) => before !== null && after !== null && after < before);
      return [fall.prev_tier, fall.new_tier, fall.change_type];
    },
    expected: async ({ named, read }) => {
      const { data } = await read(`/v1/vault/devnet/${named('Slowriver Mirage Mix').address}/score-history`);
      const falls = data.filter(({ prev_score: before, new_score: after }) => before !== null && after !== null && after < before);
      return [falls.at(-1).prev_tier, falls.at(-1).new_tier, falls.at(-1).change_type];
    },
  },
  {
    question: 'Which signal of the last days is a breach of a policy?',
    tool: 'what_changed',
    arguments: () => ({ view: 'signals', severity: ['PolicyBreach'] }),
    facts: ({ data }) => data.map(({ title }) => title),
    expected: () => ['Fourfold Ether holds more of one collateral than its limit allows'],
  },
  {
    question: 'What was the largest loss in the field?',
    tool: 'list_incidents',
    arguments: () => ({ view: 'losses', sort: 'loss', limit: 1 }),
    facts: ({ data: [{ title, lossAmountUsd }] }) => [title, lossAmountUsd],
    expected: () => ['Gullwing Bridge emptied with stolen keys', 84000000],
  },
  {
    question: 'Which real-world asset has the highest score?',
    tool: 'search_assets',
    arguments: () => ({ view: 'real_world', limit: 1 }),
    facts: ({ data: [{ symbol, name, risk_tier: tier }] }) => [symbol, name, tier],
    // Another test of the same stack may have added one.
    expected: async ({ read }) => (await read('/v1/rwa?limit=1')).data.flatMap(({ symbol, name, risk_tier: tier }) => [symbol, name, tier]),
  },
  {
    question: 'What kind of asset is PNY, and how safe is it?',
    tool: 'get_asset',
    arguments: () => ({ chain_id: 'devnet', address: '0x3496ad3e762449a9545647117b2d0191c4d97dff' }),
    facts: ({ data: { symbol, category, risk_score: score } }) => [symbol, category, score],
    expected: async ({ read }) => ['PNY', 'fiat_backed_stablecoin', (await read('/v1/assets/devnet/0x3496ad3e762449a9545647117b2d0191c4d97dff')).data.risk_score],
  },
  {
    question: 'Which lending market has lent the most?',
    tool: 'markets',
    arguments: () => ({ sortBy: 'total_borrowed_usd', limit: 1 }),
    facts: ({ data }) => names(data),
    expected: () => ['Quillfish Core'],
  },
  {
    question: 'Which price feeds are older than their heartbeat?',
    tool: 'oracles',
    arguments: () => ({ status: 'stale' }),
    facts: ({ data }) => data.map(({ description }) => description),
    expected: async ({ read }) => (await read('/v1/oracle?limit=100')).data.filter(({ status }) => status === 'stale').map(({ description }) => description),
  },
  {
    question: 'Who manages the most?',
    tool: 'curators',
    arguments: () => ({ limit: 1 }),
    facts: ({ data }) => names(data),
    expected: () => ['Pebble Committee'],
  },
  {
    question: 'Which of the vaults of Lanternmoss are the largest?',
    tool: 'protocols',
    arguments: () => ({ view: 'protocol', id: 'lanternmoss', vaultLimit: 3 }),
    facts: ({ data: { protocol, vaults } }) => [protocol.name, ...names(vaults)],
    expected: ({ vaults }) => ['Lanternmoss Vaults', ...names(vaults.filter((row) => row.protocol_id === 'lanternmoss')).slice(0, 3)],
  },
  {
    question: 'How many vaults are there, and how many of them are scored?',
    tool: 'overview',
    arguments: () => ({}),
    facts: ({ data }) => [data.vault_count, data.scored_vault_count],
    expected: ({ vaults }) => [vaults.length, vaults.filter((row) => row.total_score !== null).length],
  },
  {
    question: 'Which vaults are in the basket of Prime vaults?',
    tool: 'baskets',
    arguments: () => ({ view: 'basket', id: 'prime-vaults' }),
    facts: ({ data }) => [data.name, ...data.constituents.map(({ id }) => id).toSorted()],
    expected: async ({ read }) => ['Prime vaults', ...(await read('/v1/baskets/prime-vaults')).data.constituents.map(({ id }) => id).toSorted()],
  },
  {
    question: 'What happened to Cinderloop Fourfold Ether?',
    tool: 'get_vault',
    arguments: ({ named }) => ({ vault: named('Cinderloop Fourfold Ether').id, view: 'events' }),
    facts: ({ data }) => data.filter(({ event_type: type }) => type === 'Incident').map(({ title }) => title),
    expected: () => ['Fourfold Ether drained through its unwinding path'],
  },
  {
    question: 'What stands behind Willow Bridge 41?',
    tool: 'look_through',
    arguments: () => ({ vaults: [keyOf(WILLOW)] }),
    facts: ({ data: { results } }) => results[keyOf(WILLOW)].assets.map(({ symbol, share }) => `${symbol} ${share}`).toSorted(),
    expected: () => ['dGLD 0.35', 'sPNY 0.65'],
  },
  {
    question: 'May three quarters of my portfolio be in one protocol if the limit is 60 percent?',
    tool: 'check_portfolio',
    arguments: ({ vaults }) => ({
      portfolioRef: 'question',
      positions: [
        { vaultKey: keyOf(WILLOW), amountUsd: 750000 },
        { vaultKey: keyOf(vaults.find((row) => row.protocol_id === 'mothlamp').id), amountUsd: 250000 },
      ],
      limits: { maxSharePerProtocol: 0.6 },
      issue: true,
    }),
    facts: ({ data }) => [data.verdict, ...data.findings.map(({ limit, key, share }) => `${limit} ${key} ${share}`)],
    expected: () => ['reject', 'maxSharePerProtocol lanternmoss 0.75'],
  },
  {
    question: 'Is this decision genuine?',
    tool: 'verify_decision',
    arguments: (_, earlier) => ({ id: earlier.check_portfolio.data.decision.decisionId }),
    facts: ({ data }) => [data.found, data.envelopeIntact, data.signatureValid, data.signerRecognized, data.signerActiveAtIssuance, data.decision.verdict],
    expected: () => [true, true, true, true, true, 'reject'],
  },
  {
    question: 'By which version of the rules is a score computed?',
    tool: 'methodology',
    arguments: () => ({}),
    facts: ({ data }) => [data.methodology_version],
    expected: async ({ read }) => [(await read(`/v1/vault/devnet/${WILLOW.split('-').at(-1)}?points=1`)).data.vault.score_provenance.methodology_version],
  },
  {
    question: 'Does the service work?',
    tool: 'service_status',
    arguments: () => ({ view: 'health' }),
    facts: ({ status }) => [status],
    expected: async ({ read }) => [(await read('/v1/health')).status],
  },
];

/**
 * Asks all questions in order, each with one call. Resolves to `{question, tool, arguments, content, facts, expected}` for each.
 *
 * @param call sends `{name, arguments}`, and resolves to the tool's result
 */
export async function askAll(call, found) {
  const earlier = {};
  const asked = [];
  for (const one of QUESTIONS) {
    const given = one.arguments(found, earlier);
    const { structuredContent: content } = await call({ name: one.tool, arguments: given });
    earlier[one.tool] = content.answer;
    const facts = content.answer ? factsOf(one, content.answer) : content.error;
    asked.push({ question: one.question, tool: one.tool, arguments: given, content, facts, expected: await one.expected(found) });
  }
  return asked;
}

/** The facts in an answer; the fault if they are not where they should be, so that the other questions are asked, too. */
function factsOf({ facts }, answer) {
  try {
    return facts(answer);
  } catch (error) {
    return String(error);
  }
}

async function main([address, key]) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const headers = key ? { authorization: `Bearer ${key}` } : {};
  const client = new Client({ name: 'questions', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL('/v1/mcp', address), { requestInit: { headers } }));
  const read = async (path) => (await fetch(new URL(path, address), { headers })).json();
  const asked = await askAll((call) => client.callTool(call), await market(read));
  for (const { question, tool, arguments: given, facts, expected } of asked) {
    const isRight = JSON.stringify(facts) === JSON.stringify(expected);
    console.log(`${isRight ? 'right' : 'WRONG'}  ${question}\n       ${tool} ${JSON.stringify(given)}\n       ${JSON.stringify(facts)}`);
    if (!isRight) console.log(`       expected ${JSON.stringify(expected)}`);
  }
  const right = asked.filter(({ facts, expected }) => JSON.stringify(facts) === JSON.stringify(expected)).length;
  console.log(`${right} of ${asked.length} right`);
  await client.close();
  process.exitCode = right === asked.length ? 0 : 1;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main(process.argv.slice(2));
