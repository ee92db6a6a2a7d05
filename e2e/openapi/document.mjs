// The OpenAPI document as tests read it: its operations, their requests, and validators of what they answer.

import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { readFileSync } from 'node:fs';

/** The committed document. */
export const FILE = new URL('../../openapi/openapi.json', import.meta.url);
export const committed = () => JSON.parse(readFileSync(FILE, 'utf8'));

/** Every operation: `{id, method, path, operation}`. */
export function operations(document) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ id: operation.operationId, method: method.toUpperCase(), path, operation })));
}

/** What a reference leads to, or the value itself. */
export function follow(document, value) {
  if (!value?.$ref) return value;
  return value.$ref.slice(2).split('/').reduce((at, name) => at[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

/** Checks values against schemas of the document, as JSON Schema 2020-12. */
export class Validator {
  #ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true });
  #document;

  constructor(document) {
    this.#document = document;
    addFormats(this.#ajv);
    this.#ajv.addSchema({ $id: 'document', components: document.components });
  }

  /** What is wrong with `value`, a line each; nothing when it is what the schema says. */
  faults(schema, value) {
    const rooted = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'));
    const check = this.#ajv.compile(rooted);
    if (check(value)) return [];
    return check.errors.slice(0, 5).map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
  }

  /** What is wrong with an answer of an operation: status, headers that are promised, body. */
  answerFaults(operation, answer) {
    const response = follow(this.#document, operation.responses[answer.status]);
    if (!response) return [`${answer.status} is not documented: ${answer.text.slice(0, 200)}`];
    const faults = [];
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      if (follow(this.#document, header).required && answer.headers.get(name) === null) faults.push(`no ${name}`);
    }
    const schema = response.content?.['application/json']?.schema;
    if (schema) faults.push(...this.faults(schema, answer.json));
    return faults;
  }
}

/** The target of a request, as the document's parameters say that it is written. */
export function target(document, { path, operation }, values) {
  let filled = path;
  for (const [name, value] of Object.entries(values.path ?? {})) filled = filled.replace(`{${name}}`, encodeURIComponent(value));
  const query = Object.entries(values.query ?? {}).map(([name, value]) => {
    const parameter = operation.parameters.map((one) => follow(document, one)).find((one) => one.in === 'query' && one.name === name);
    if (!parameter) throw new Error(`${path} has no parameter ${name}`);
    const words = Array.isArray(value) ? value.map(encodeURIComponent).join(',') : encodeURIComponent(value);
    return `${encodeURIComponent(name)}=${words}`;
  });
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}

/** The request that the document gives as its example. */
export function exampleRequest(document, { operation }) {
  const values = { path: {}, query: {} };
  for (const parameter of operation.parameters.map((one) => follow(document, one))) {
    if (parameter.example !== undefined) values[parameter.in][parameter.name] = parameter.example;
  }
  values.body = operation.requestBody?.content['application/json'].example;
  return values;
}
