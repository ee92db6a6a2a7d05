// Reads HTML as the explorer writes it: text, tags, and what is wrong with a document.

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' };
const decoded = (text) => text.replace(/&(#x?[0-9a-f]+|[a-z]+);/gi, (all, name) => ENTITIES[name] ?? (name === '#39' ? "'" : all));
const VOID = new Set(['meta', 'link', 'input', 'br', 'hr', 'img']);
/** Elements that end a paragraph: inside of one they would move when a browser reads the document. */
const BLOCKS = new Set(
  'address article aside details div dl fieldset figure footer form h1 h2 h3 header main nav ol p pre section table ul'.split(' '),
);

/** The tags of a document in order, each with its attributes and the names of the elements around it. */
export function tagsOf(html) {
  const tags = [];
  const open = [];
  const withoutScripts = html.replace(/(<script\b[^>]*>)[\s\S]*?(<\/script>)/g, '$1$2').replace(/<!doctype html>/i, '');
  for (const [, close, name, rest] of withoutScripts.matchAll(/<(\/?)([a-zA-Z][\w-]*)((?:[^>"]|"[^"]*")*)>/g)) {
    if (close) {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> closes <${last}>`);
      continue;
    }
    const attributes = {};
    for (const [, key, value = ''] of rest.matchAll(/([^\s"=/]+)(?:="([^"]*)")?/g)) attributes[key.toLowerCase()] = decoded(value);
    tags.push({ name, attributes, around: [...open] });
    if (!VOID.has(name) && !rest.endsWith('/')) open.push(name);
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)}> is not closed`);
  return tags;
}

/** The text that a reader sees, with one space for each break. */
export function textOf(html) {
  const body = html.replace(/<script\b[^>]*>[\s\S]*?<\/script>|<title>[\s\S]*?<\/title>/g, ' ');
  const spaced = body.replace(/<\/?(?:p|div|li|td|th|dt|dd|h[1-3]|option|summary|section|label|text)\b[^>]*>/g, ' ');
  return decoded(spaced.replace(/<[^>]*>/g, ''))
    .replace(/\s+/g, ' ')
    .trim();
}

/** The content of the element with the id `app`. */
export const appOf = (html) => /<div id="app">([\s\S]*)<\/div><script type="application\/json" id="state">/.exec(html)[1];

/** The state that the document carries. */
export const stateOf = (html) => JSON.parse(/<script type="application\/json" id="state">([\s\S]*?)<\/script>/.exec(html)[1]);

/** What is wrong with a document. */
export function problemsOf(html) {
  const tags = tagsOf(html);
  const problems = [];
  const say = (condition, text) => condition && problems.push(text);
  const of = (name) => tags.filter((tag) => tag.name === name);
  say(of('h1').length !== 1, `${of('h1').length} headings of the first level`);
  let level = 0;
  for (const { name } of tags.filter((tag) => /^h[1-6]$/.test(tag.name))) {
    say(Number(name[1]) > level + 1, `${name} after a heading of level ${level}`);
    level = Number(name[1]);
  }
  const ids = tags.flatMap(({ attributes }) => (attributes.id ? [attributes.id] : []));
  say(new Set(ids).size !== ids.length, `an id is there twice: ${ids.filter((id, at) => ids.indexOf(id) !== at)}`);
  const labelled = new Set(of('label').map(({ attributes }) => attributes.for));
  for (const { name, attributes, around } of tags) {
    const said = `<${name} ${JSON.stringify(attributes)}>`;
    say('style' in attributes, `a style attribute: ${said}`);
    say(
      Object.keys(attributes).some((key) => key.startsWith('on')),
      `a handler: ${said}`,
    );
    say(name === 'script' && !attributes.src && attributes.type !== 'application/json', `an inline script: ${said}`);
    say(name === 'style', 'a style element');
    say(/^\s*(javascript|data|vbscript):/i.test(attributes.href ?? attributes.action ?? attributes.src ?? ''), `an address that runs: ${said}`);
    say(name === 'a' && !attributes.href, `a link to nowhere: ${said}`);
    say(name === 'a' && around.includes('a'), `a link in a link: ${said}`);
    say(BLOCKS.has(name) && around.at(-1) === 'p', `<${name}> in <p>`);
    say(name === 'p' && around.some((one) => ['bdi', 'span', 'a', 'dt'].includes(one)), '<p> in text');
    const isField = ['input', 'select', 'textarea'].includes(name) && attributes.type !== 'hidden';
    say(isField && !labelled.has(attributes.id) && !around.includes('label') && !attributes['aria-label'], `a field without a label: ${said}`);
    for (const key of ['aria-labelledby', 'aria-describedby', 'for']) {
      say(attributes[key] && !ids.includes(attributes[key]), `${key} names nothing: ${said}`);
    }
    for (const value of Object.values(attributes))
      say(/\b(undefined|NaN|null|Invalid Date)\b|\[object/.test(value), `a value that says nothing: ${said}`);
  }
  say(of('table').length !== of('caption').length, 'a table without a caption');
  // The table below a chart leaves out what did not happen at an instant.
  const cells = html.replace(/<figure[\s\S]*?<\/figure>/g, '').matchAll(/<(td|dd|th)\b[^>]*>([\s\S]*?)<\/\1>/g);
  for (const [cell, , content] of cells) say(textOf(content) === '' && !cell.includes('aria-hidden'), `nothing in ${cell}`);
  say(/<(a|button)\b[^>]*>(<bdi>)?(<\/bdi>)?<\/\1>/.test(html), 'a link or button without text');
  const bad = /\b(undefined|NaN|null|Invalid Date)\b|\[object/.exec(textOf(html));
  say(bad, `a text that says nothing: …${textOf(html).slice(Math.max(0, (bad?.index ?? 0) - 60), (bad?.index ?? 0) + 40)}…`);
  return problems;
}
