// The form that reads a score again: passes the pasted answer and the endpoints to a worker, and shows the verdict on each input.

const WORDS = { confirmed: 'Confirmed', contradicted: 'Contradicted', not_checked: 'Not checked' };
const MARKS = { ok: '✓', failed: '✕', unchecked: '–' };
/** A verdict as the outcome of a step, which has the style for it. */
const STEPS = { confirmed: 'ok', contradicted: 'failed', not_checked: 'unchecked' };
const SCORE = { ok: 'Follows', failed: 'Does not follow', unchecked: 'Not checked' };

const form = document.getElementById('again');
const field = (name) => document.getElementById(name);
let worker;
let runs = 0;

/** Creates an element with a text or with children, and a class. */
function made(tag, content, name) {
  const element = document.createElement(tag);
  if (typeof content === 'string') element.textContent = content;
  else element.append(...content);
  if (name) element.className = name;
  return element;
}

/** Renders a sentence of the verifier: names are between backticks. */
const sentence = (text) =>
  text.replaceAll("'", '’').split('`').map((part, place) => (place % 2 === 1 ? made('code', part) : part));

const list = (rows) => made('dl', rows.flatMap(([label, value]) => [made('dt', label), made('dd', [made('code', value)])]));

function shownStep(name, outcome, word, title, ...content) {
  const step = made('li', [], 'step');
  step.dataset.step = name;
  step.dataset.outcome = outcome;
  const mark = made('span', MARKS[outcome], 'mark-of');
  mark.setAttribute('aria-hidden', 'true');
  step.append(made('h3', [mark, made('span', title, 'asks'), made('span', word, 'word')]), ...content);
  return step;
}

function shownFinding({ endpoint, said, call }) {
  const shown = [made('p', [...(endpoint ? [made('code', endpoint), ': '] : []), ...sentence(said)])];
  if (!call) return shown;
  const rows = [['call', `${call.place}: ${call.method}`], ['contract', call.contract]];
  if (call.data !== null) rows.push(['data', call.data]);
  if (call.node !== null) rows.push(['published answer', call.published ?? 'none'], ['the node’s answer', call.node]);
  return [...shown, list(rows)];
}

function shownInput({ name, value, outcome, said, readAt, findings }) {
  const at = readAt ? [list([
    ['block', `${readAt.blockNumber} of chain ${readAt.chainId}`], ['its hash', readAt.blockHash],
    ['calls', `${readAt.calls}, read alike by ${readAt.agreed} of ${readAt.asked} operators`],
    ...(readAt.simulated > 0 ? [['simulated', `${readAt.simulated}, as if accounts had other code or storage`]] : []),
  ])] : [];
  const title = [made('code', name), ' = ', made('code', value)];
  const content = findings.length > 0 ? findings.flatMap(shownFinding) : [made('p', sentence(said))];
  return shownStep(name, STEPS[outcome], WORDS[outcome], title, ...content, ...at);
}

function shownScore({ title, outcome, said, inputs }) {
  const rows = inputs.map(({ label, value }) => [label, value]);
  return shownStep('score', outcome, SCORE[outcome], sentence(title), made('p', sentence(said)), ...(rows.length > 0 ? [list(rows)] : []));
}

/** The score is not read on a chain, so it changes the headline only if it does not follow. */
function show({ outcome, summary, inputs, stated, score }) {
  const isWrong = score?.outcome === 'failed';
  const rest = stated > 0 ? ` ${stated} further inputs were stated by a source, which no chain can confirm.` : '';
  tell(isWrong ? 'contradicted' : outcome, isWrong ? WORDS.contradicted : WORDS[outcome], `${isWrong ? `${score.said} ` : ''}${summary}${rest}`);
  field('again-inputs').replaceChildren(...inputs.map(shownInput), ...(score ? [shownScore(score)] : []));
  field('again-result').hidden = false;
}

function tell(outcome, headline, summary) {
  const box = field('again-outcome');
  box.dataset.outcome = outcome;
  box.replaceChildren(made('strong', headline), made('span', sentence(summary)));
}

function forget() {
  runs += 1;
  field('again-result').hidden = true;
  field('again-outcome').replaceChildren();
  delete field('again-outcome').dataset.outcome;
}

/** The files that the worker loads; undefined if they are not part of this build. */
function files() {
  const { glue, module, loop } = form.dataset;
  return glue && module && loop ? { glue, module, loop } : undefined;
}

/** Starts the worker, which loads the verifier in advance; after that the page works without the service. */
function start() {
  worker = new Worker(form.dataset.worker, { type: 'module' });
  worker.addEventListener('message', ({ data: { run, progress, report, fault } }) => {
    if (run !== runs) return;
    if (progress) field('again-progress').textContent = `${progress.done} of ${progress.of} requests`;
    else if (report) show(report);
    else tell('fault', 'Nothing was read', fault);
  });
  worker.addEventListener('error', () => {
    worker = undefined;
    if (field('again-outcome').dataset.outcome === 'working') tell('fault', 'Nothing was read', 'The verifier could not be started.');
  });
  worker.postMessage({ files: files() });
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  forget();
  if (!files()) {
    tell('fault', 'Nothing was read', 'The verifier is not part of this build: `cargo xtask wasm` makes it.');
    return;
  }
  const endpoints = field('endpoints').value.split(/\s+/).filter(Boolean);
  const progress = made('span', '');
  progress.id = 'again-progress';
  tell('working', 'Reading', 'This page asks your nodes.');
  field('again-outcome').append(progress);
  if (!worker) start();
  worker.postMessage({ run: runs, files: files(), answer: field('answer').value, endpoints });
});
form.addEventListener('reset', () => {
  forget();
  // A message without endpoints ends the run before it.
  worker?.postMessage({ files: files() });
  field('answer').focus();
});
form.hidden = false;
if (files()) start();
