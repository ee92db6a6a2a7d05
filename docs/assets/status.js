// The status page: reads /v1/status once a minute while the page is visible.
'use strict';

const EVERY_MS = 60_000;
const WORDS = { operational: 'Operational', degraded: 'Degraded', down: 'Down' };
const NAMES = {
  api: 'API',
  reachability: 'Reachability',
  errors: 'Errors',
  events_stream: 'Event stream',
  webhooks: 'Webhooks',
  data_freshness: 'Freshness of data',
  fail_safe: 'Fail-safe mode',
  writes: 'Writes',
  chains: 'Reading of chains',
};

const head = document.getElementById('overall');
const list = document.getElementById('components');
const facts = document.getElementById('facts');
const note = document.getElementById('read-at');

/** Creates an element with a text and a class. */
function made(tag, text, name) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (name) element.className = name;
  return element;
}

const word = (status) => WORDS[status] ?? String(status);
const time = (instant) => (instant ? new Date(instant).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }) : '–');

const names = (rows) => rows.map(({ name }) => NAMES[name] ?? name).join(', ');

/** The headline. Components that are not monitored are named, because they are only assumed to work. */
function headline({ rollup, components }) {
  const bad = components.filter(({ status }) => status === rollup);
  if (rollup !== 'operational') return `${word(rollup)}: ${names(bad) || 'the service'}`;
  const unmonitored = components.filter(({ name, detail }) => name === 'reachability' && detail !== null);
  return unmonitored.length === 0 ? 'All components work' : `All monitored components work (not monitored: ${names(unmonitored)})`;
}

/** Writes the headline only when it changes, because screen readers announce every write. */
function say(status, text) {
  head.dataset.status = status;
  if (head.textContent !== text) head.textContent = text;
}

function show(feed) {
  const rollup = feed.rollup ?? feed.status;
  say(rollup, headline({ rollup, components: feed.components }));
  list.replaceChildren(
    ...feed.components.map(({ name, status, detail, checked_at: checked }) => {
      const row = document.createElement('li');
      row.dataset.status = status;
      row.append(made('span', NAMES[name] ?? name, 'name'), made('span', word(status), 'word'));
      const said = [detail, checked && `checked at ${time(checked)}`].filter(Boolean).join(' · ');
      row.append(made('p', said || 'Nothing to report', 'detail'));
      return row;
    }),
  );
  const rows = [];
  for (const [window, share] of Object.entries(feed.uptime ?? {})) {
    rows.push([`Up in the last ${window}`, share === null ? 'unknown' : `${share} %`]);
  }
  const { error_rate_15m: rate, requests_15m: requests, external_down_samples: samples } = feed.signals ?? {};
  if (requests !== undefined && requests !== null) rows.push(['Requests in 15 minutes', String(requests)]);
  if (rate !== undefined && rate !== null) rows.push(['Failed requests', `${(rate * 100).toFixed(2)} %`]);
  if (samples !== undefined && samples !== null) rows.push(['Failed external samples', String(samples)]);
  facts.replaceChildren(
    ...rows.map(([name, value]) => {
      const pair = document.createElement('div');
      pair.append(made('dt', name), made('dd', value));
      return pair;
    }),
  );
  note.textContent = `Read at ${time(new Date())}, last checked at ${time(feed.last_checked_at)}. Updated every minute.`;
}

/** Shows how much of the scores rests on evidence. Nothing is shown while the health record cannot be read. */
async function readEvidence() {
  const place = document.getElementById('evidence');
  const response = await fetch('/v1/health', { headers: { accept: 'application/json' }, cache: 'no-store' });
  const coverage = (await response.json()).evidenceCoverage;
  if (!coverage) return;
  const percent = (value) => (value === null ? 'unknown' : `${value} %`);
  const rows = [
    ['Answers about assets', `${coverage.assetAnswers} about ${coverage.answeredAssets} assets`],
    ['Answers about protocols', String(coverage.protocolAnswers)],
    ['Value in vaults with a score', percent(coverage.scoredTvlPercent)],
    ['Value in vaults with known exposures', percent(coverage.knownExposuresTvlPercent)],
  ];
  place.replaceChildren(
    ...rows.map(([name, value]) => {
      const pair = document.createElement('div');
      pair.append(made('dt', name), made('dd', value));
      return pair;
    }),
  );
  place.hidden = false;
}

async function read() {
  readEvidence().catch(() => {});
  try {
    const response = await fetch('/v1/status', { headers: { accept: 'application/json' }, cache: 'no-store' });
    if (!response.ok) throw new Error(`status ${response.status}`);
    show(await response.json());
  } catch (fault) {
    say('unknown', 'The status cannot be read');
    note.textContent = `/v1/status could not be read: ${fault.message}. This page retries every minute.`;
  }
}

document.getElementById('live').hidden = false;
read();
setInterval(() => {
  if (!document.hidden) read();
}, EVERY_MS);
