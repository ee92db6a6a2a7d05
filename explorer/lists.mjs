// The filters and sorts of every list, and the operations that pages show, read from the OpenAPI document: forms and links cannot differ from
// what the API accepts.

import { readFileSync } from 'node:fs';

/** Lists that have a page, by path. */
const PATHS = [
  '/v1/vaults',
  '/v1/assets/enriched',
  '/v1/markets',
  '/v1/oracle',
  '/v1/curators',
  '/v1/protocols',
  '/v1/chains',
  '/v1/events',
  '/v1/security-events',
  '/v1/security-events/losses',
  '/v1/signals',
  '/v1/baskets',
  '/v1/indices',
];
/** Parameters that are not filters. */
const OTHERS = new Set(['page', 'limit', 'strict', 'sortBy', 'sortOrder', 'include_quality']);
/** Parameters of the registry that are the loss board's: the first answers with the board, whose rows are others, the second does nothing. */
const OF_LOSSES = { '/v1/security-events': new Set(['hasLoss', 'minLossUsd']) };
/** Options of `severity`, whose examples in the document are those of the registry and of the loss board together. */
const SEVERITIES = { '/v1/security-events': ['info', 'warning', 'critical'], '/v1/security-events/losses': ['low', 'medium', 'high', 'critical'] };

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));

/** The operations whose answers pages show: path, address of the description, and summary. Paths with fewer parameters come first. */
export function references() {
  const shown = read('shown.json');
  return Object.entries(read('../openapi/openapi.json').paths)
    .flatMap(([path, { get }]) => (get && Object.hasOwn(shown, get.operationId) ? [{ path, ...reference(get) }] : []))
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length);
}

function reference({ operationId, summary, tags: [section] }) {
  const page = section.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean).join('-');
  return { link: `/v1/docs/reference-${page}#${operationId}`, summary: summary.replaceAll('`', '') };
}

/** Path → filters (name, kind, options, about), sort fields, and whether an answer without a limit has all rows. */
export function lists() {
  const document = read('../openapi/openapi.json');
  const follow = (node) => {
    const parts = node?.$ref?.slice(2).split('/');
    return parts ? follow(parts.reduce((at, name) => at[name], document)) : node;
  };
  const result = {};
  for (const path of PATHS) {
    const parameters = document.paths[path].get.parameters.map(follow).filter((it) => it.in === 'query');
    const named = (name) => follow(parameters.find((it) => it.name === name)?.schema);
    result[path] = {
      filters: parameters
        .filter(({ name }) => !OTHERS.has(name) && !OF_LOSSES[path]?.has(name))
        .map(({ name, schema, description }) => filter(name, follow(schema), follow, description))
        .map((made) => (made.name === 'severity' && SEVERITIES[path] ? { ...made, options: SEVERITIES[path] } : made)),
      sorts: named('sortBy')?.enum ?? [],
      firstSort: named('sortBy')?.default ?? named('sortBy')?.enum?.[0] ?? null,
      isWhole: named('limit')?.default === undefined,
    };
  }
  return result;
}

function filter(name, schema, follow, description = '') {
  const about = description.split('. ')[0].replaceAll('`', '').replace(/\.$/, '');
  const item = follow(schema.items);
  if (item?.enum) return { name, kind: 'choices', options: item.enum, about };
  if (schema.enum) return { name, kind: 'choice', options: schema.enum, about };
  if (schema.type === 'boolean') return { name, kind: 'choice', options: ['true', 'false'], about };
  if (schema.examples && schema.type === 'string') return { name, kind: 'choice', options: schema.examples, about };
  if (schema.type === 'number' || schema.type === 'integer') {
    return { name, kind: 'number', min: schema.minimum ?? null, max: schema.maximum ?? null, about };
  }
  return { name, kind: name === 'search' ? 'search' : 'text', about };
}
