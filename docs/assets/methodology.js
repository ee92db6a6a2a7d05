// Compares the page's tables with the rules in force, and updates values that differ.
'use strict';

/** A value as shown on the page; `render/methodology.rs` formats it the same way. */
function shown(value) {
  if (value === null) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(shown).join(', ');
  if (typeof value === 'object') return Object.entries(value).map(([name, inner]) => `${name}: ${shown(inner)}`).join('; ');
  // A narrow space between thousands, from five digits on.
  return Number.isInteger(value) && value >= 10_000 ? String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f') : String(value);
}

/** The value at a JSON Pointer. */
function at(document_, pointer) {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, part) => value?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], document_);
}

async function refresh() {
  const note = document.getElementById('in-force');
  if (!note) return;
  const response = await fetch('/v1/methodology', { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const { data } = await response.json();
  let changed = 0;
  for (const cell of document.querySelectorAll('[data-rule]')) {
    const value = at(data, cell.dataset.rule);
    if (value === undefined || shown(value) === cell.textContent) continue;
    // Trailing zeros do not make a number different.
    if (typeof value === 'number' && Number(cell.textContent) === value) continue;
    cell.textContent = shown(value);
    cell.classList.add('changed');
    changed += 1;
  }
  const version = data.methodology_version;
  note.textContent =
    changed === 0
      ? `Compared with /v1/methodology just now: version ${version} is in force, and every value on this page matches it.`
      : `Version ${version} is in force; ${changed} values on this page were updated from /v1/methodology just now and are marked.`;
}

refresh().catch((fault) => {
  const note = document.getElementById('in-force');
  if (note) note.textContent = `The values are those of this page's build; /v1/methodology could not be read (${fault.message}).`;
});
