// A form for each operation that sends the request from this page and shows the response. The key stays in this page's memory.
'use strict';

/** Maximum number of characters shown of a body. */
const MAX_SHOWN = 200_000;
/** Response headers that come first, in this order. */
const FIRST = ['x-service-ignored-parameters', 'x-service-unknown-values', 'content-type', 'x-cache', 'age', 'etag', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after', 'x-request-id'];

const keyField = document.getElementById('key');
const keyForm = document.getElementById('console');
keyForm.hidden = false;
// The element is a form for its layout only: it is never submitted, and nothing is stored.
keyForm.addEventListener('submit', (event) => event.preventDefault());

/** Creates an element with attributes and children. */
function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'class') element.className = value;
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The input field for a parameter's table row. */
function field(operation, row) {
  const { name, in: place, choices, many, example, required } = row.dataset;
  const id = `${operation}-${place}-${name}`;
  const label = [name, made('span', { class: 'mark-in' }, place)];
  if (many) {
    const boxes = many.split('|').map((value) => made('label', { class: 'choice' }, made('input', { type: 'checkbox', value }), value));
    const group = made('fieldset', { id, class: 'field' }, made('legend', {}, ...label), ...boxes);
    Object.assign(group.dataset, { in: place, name });
    return group;
  }
  let input;
  if (choices) {
    input = made('select', { id }, ...['', ...choices.split('|')].map((value) => made('option', { value }, value || 'not sent')));
  } else {
    const value = place === 'path' || required !== undefined ? example : undefined;
    input = made('input', { id, type: 'text', value, placeholder: example ? `such as ${example}` : false, autocomplete: 'off', spellcheck: 'false' });
  }
  input.dataset.in = place;
  input.dataset.name = name;
  if (required !== undefined) input.required = true;
  return made('div', { class: 'field' }, made('label', { for: id }, ...label), input);
}

/** The value of a field; ticked checkboxes become a list separated by commas. */
function said(input) {
  if (input.tagName !== 'FIELDSET') return input.value.trim();
  return [...input.querySelectorAll(':checked')].map((box) => box.value).join(',');
}

/** The request of the form: URL, method, headers, body. */
function request(section, form) {
  let path = section.dataset.path;
  const query = new URLSearchParams();
  const headers = new Headers();
  for (const input of form.querySelectorAll('[data-in]')) {
    const value = said(input);
    if (input.dataset.in === 'path') path = path.replace(`{${input.dataset.name}}`, encodeURIComponent(value));
    else if (value !== '' && input.dataset.in === 'query') query.append(input.dataset.name, value);
    else if (value !== '') headers.set(input.dataset.name, value);
  }
  const key = keyField.value.trim();
  if (key !== '') headers.set('authorization', `Bearer ${key}`);
  const text = form.querySelector('textarea')?.value;
  if (text !== undefined) headers.set('content-type', 'application/json');
  const address = query.size > 0 ? `${path}?${query}` : path;
  return { address, init: { method: section.dataset.method, headers, body: text, cache: 'no-store', credentials: 'omit' } };
}

/** The body, indented if it is JSON. */
function indented(text, type) {
  if (!/json/.test(type ?? '')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Every header that a script can read, the important ones first. */
function listed(headers) {
  const all = [...headers];
  const rank = ([name]) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  all.sort((one, other) => rank(one) - rank(other) || one[0].localeCompare(other[0]));
  return all.map(([name, value]) => `${name}: ${value}`).join('\n');
}

/** The elements that show a response. */
function answerBox() {
  const status = made('p', { class: 'answered', role: 'status' });
  const scrolling = { tabindex: '0', role: 'group' };
  const headers = made('pre', { ...scrolling, 'aria-label': 'Response headers' }, made('code'));
  const body = made('pre', { ...scrolling, 'aria-label': 'Response body', class: 'body' }, made('code'));
  const box = made('div', { class: 'answer', hidden: true }, status, made('details', {}, made('summary', {}, 'Headers'), headers), body);
  return {
    box,
    say(text, good) {
      box.hidden = false;
      status.textContent = text;
      status.dataset.good = good === undefined ? '' : String(good);
    },
    headers(text) {
      headers.firstChild.textContent = text;
    },
    body(text) {
      body.firstChild.textContent = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n… ${text.length - MAX_SHOWN} characters more` : text;
    },
  };
}

/** Shows a stream's frames as they arrive. */
async function follow(response, answer) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text = (text + value).slice(-MAX_SHOWN);
    answer.body(text);
  }
}

async function send(section, form, answer, button) {
  const { address, init } = request(section, form);
  const stop = new AbortController();
  const label = button.textContent;
  if (section.dataset.stream !== undefined) {
    button.textContent = 'Stop';
    form.stop = () => stop.abort();
  } else {
    button.disabled = true;
  }
  answer.say(`${init.method} ${address} …`);
  answer.body('');
  answer.headers('');
  const begun = performance.now();
  try {
    const response = await fetch(address, { ...init, signal: stop.signal });
    const type = response.headers.get('content-type');
    const took = Math.round(performance.now() - begun);
    answer.say(`${response.status} ${response.statusText} · ${took} ms · ${init.method} ${address}`.replace('  ', ' '), response.ok);
    answer.headers(listed(response.headers));
    if (/event-stream/.test(type ?? '')) await follow(response, answer);
    else answer.body(indented(await response.text(), type));
  } catch (fault) {
    if (fault.name === 'AbortError') answer.say(`stopped · ${init.method} ${address}`);
    else answer.say(`no response: ${fault.message}`, false);
  } finally {
    button.disabled = false;
    button.textContent = label;
    delete form.stop;
  }
}

/** Builds the form of an operation, when it is opened for the first time. */
function build(section, details) {
  const id = section.dataset.operation;
  const rows = [...section.querySelectorAll('tr[data-name]')];
  const example = section.querySelector('[data-body] code')?.textContent;
  const takesBody = section.dataset.method === 'POST' && section.querySelector('[data-takes-body]') !== null;
  const button = made('button', { type: 'submit', class: 'send' }, 'Send');
  const form = made('form', { class: 'send-form' }, ...rows.map((row) => field(id, row)));
  if (takesBody) {
    const area = made('textarea', { id: `${id}-body`, rows: '8', spellcheck: 'false' });
    area.value = example?.trim() ?? '{}';
    form.append(made('div', { class: 'field wide' }, made('label', { for: `${id}-body` }, 'Body'), area));
  }
  const answer = answerBox();
  form.append(button);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (form.stop) form.stop();
    else send(section, form, answer, button);
  });
  details.append(form, answer.box);
}

for (const section of document.querySelectorAll('section.operation')) {
  const details = made('details', { class: 'try' }, made('summary', {}, 'Send a request'));
  details.addEventListener('toggle', () => build(section, details), { once: true });
  section.querySelector('.route').after(details);
}
