// The page that verifies decisions: reads the evidence, runs the verifier in the browser, and shows each step.

const ID = /^(0x)?[0-9a-f]{64}$/i;
const WORDS = { ok: 'Passes', failed: 'Fails', unchecked: 'Not checked' };
const MARKS = { ok: '✓', failed: '✕', unchecked: '–' };
const HEADLINES = { genuine: 'Genuine', unproven: 'Not proved', refuted: 'Not genuine' };
const SEALED = [
  ['verdict', 'Verdict'], ['portfolioRef', 'Portfolio'], ['createdAt', 'Signed at'], ['methodologyVersion', 'Methodology'],
  ['keyId', 'Key'], ['id', 'Decision'], ['snapshotId', 'Snapshot'], ['signerAddress', 'Signer'],
];

const form = document.getElementById('verify');
const field = (name) => document.getElementById(name);
const filled = (name) => field(name).value.trim() || undefined;
let verifier;
let runs = 0;

/** Creates an element with a text or with children, and a class. */
function made(tag, content, name) {
  const element = document.createElement(tag);
  if (typeof content === 'string') element.textContent = content;
  else element.append(...content);
  if (name) element.className = name;
  return element;
}

/** Renders a sentence of the verifier: member names are between backticks. */
const sentence = (text) =>
  text.replaceAll("'", '’').split('`').map((part, place) => (place % 2 === 1 ? made('code', part) : part));

/** Loads and compiles the verifier once. A failure is not remembered, so the next attempt loads it again. */
function loaded() {
  const { glue, module } = form.dataset;
  if (!glue || !module) throw new Error('The verifier is not part of this build: `cargo xtask wasm` makes it.');
  verifier ??= import(glue)
    .then(async (package_) => {
      await package_.default({ module_or_path: new URL(module, location.href) });
      return package_.verify;
    })
    .catch((fault) => {
      verifier = undefined;
      throw new Error(`The verifier could not be loaded: ${fault.message}`);
    });
  return verifier;
}

/** The text of a response of this service; undefined if the answer is 404. */
async function asked(path) {
  const response = await fetch(path, { headers: { accept: 'application/json' } });
  if (response.status === 404) return undefined;
  const text = await response.text();
  if (!response.ok) throw new Error(`The service answered ${response.status} to ${path}: ${reason(text)}`);
  return text;
}

function reason(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return 'a response that is not a valid error';
  }
}

/** The snapshot id in a decision's text; undefined if it cannot be read. */
function snapshotOf(text) {
  try {
    const { snapshotId } = JSON.parse(JSON.parse(text).data.envelope);
    return ID.test(snapshotId) ? snapshotId : undefined;
  } catch {
    return undefined;
  }
}

/** The evidence to verify. An id is looked up at the service; any other pasted text stays on this machine. */
async function evidence() {
  const pasted = filled('decision') ?? '';
  const offline = form.elements.registry.value === 'pasted';
  const given = {
    decision: pasted, signature: filled('signature'), request: filled('request'), findings: filled('findings'), snapshot: filled('snapshot'),
    signers: offline ? filled('signers') : undefined,
  };
  if (ID.test(pasted)) {
    if (offline) throw new Error('A decision id cannot be verified without the envelope: paste the envelope, or let this page read it from the service.');
    const id = pasted.replace(/^0x/i, '').toLowerCase();
    const decision = await asked(`/v1/graph/decision/${id}`);
    if (decision === undefined) throw new Error('The service has no decision under this id, or does not offer decisions at all.');
    const snapshot = snapshotOf(decision);
    Object.assign(given, { decision, decisionId: id });
    given.snapshot ??= snapshot && (await asked(`/v1/graph/snapshot/${snapshot}`));
  }
  if (!offline) given.signers = await asked('/v1/graph/signers');
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function shownStep({ name, title, outcome, said, inputs }) {
  const step = made('li', [], 'step');
  step.dataset.step = name;
  step.dataset.outcome = outcome;
  const mark = made('span', MARKS[outcome], 'mark-of');
  mark.setAttribute('aria-hidden', 'true');
  const head = made('h3', [mark, made('span', sentence(title), 'asks'), made('span', WORDS[outcome], 'word')]);
  step.append(head, made('p', sentence(said)));
  if (inputs.length > 0) {
    step.append(made('dl', inputs.flatMap(({ label, value }) => [made('dt', label), made('dd', [made('code', value)])])));
  }
  return step;
}

/** Added to the summary if the registry was read from the service: the one point in which the outcome relies on the service. */
const REGISTRY_TRUST = ' The registry of signers was read from this service: you rely on the service for the statement that these keys are its own.';

function show({ outcome, summary, decision, steps }, isRegistryOurs) {
  tell(outcome, HEADLINES[outcome], outcome === 'genuine' && isRegistryOurs ? summary + REGISTRY_TRUST : summary);
  const rows = decision === null ? [] : SEALED.map(([name, label]) => [label, decision[name]]);
  const hash = (value) => (/^(0x)?[0-9a-f]{40,}$/.test(value) ? 'hash' : undefined);
  field('sealed').replaceChildren(...rows.map(([label, value]) => made('div', [made('dt', label), made('dd', value, hash(value))])));
  field('steps').replaceChildren(...steps.map(shownStep));
  field('result').hidden = false;
}

function tell(outcome, headline, summary) {
  const box = field('outcome');
  box.dataset.outcome = outcome;
  box.replaceChildren(made('strong', headline), made('span', sentence(summary)));
}

function forget() {
  runs += 1;
  field('result').hidden = true;
  field('outcome').replaceChildren();
  delete field('outcome').dataset.outcome;
}

async function run() {
  forget();
  const mine = runs;
  tell('working', 'Working', 'Each step runs on this machine.');
  try {
    const [verify, given] = await Promise.all([loaded(), evidence()]);
    const report = verify(given);
    if (mine === runs) show(report, form.elements.registry.value === 'read');
  } catch (fault) {
    // fetch reports a network failure as a TypeError whose message depends on the browser.
    const isOffline = fault instanceof TypeError;
    const why = isOffline ? `The service cannot be reached (${fault.message}). Paste the registry to continue without it.` : fault.message;
    if (mine === runs) tell('fault', 'Nothing was verified', why);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  run();
});
form.addEventListener('reset', () => {
  forget();
  // The radio buttons are reset only after this event.
  field('registry-field').hidden = true;
  field('decision').focus();
});
for (const choice of form.elements.registry) {
  choice.addEventListener('change', () => {
    field('registry-field').hidden = form.elements.registry.value !== 'pasted';
  });
}
// A link may contain a decision id after `#`, which browsers do not send to the server.
const named = location.hash.slice(1);
if (ID.test(named)) field('decision').value = named;
form.hidden = false;
// Load the verifier in advance; after that the page works offline.
Promise.resolve().then(loaded).catch(() => {});
