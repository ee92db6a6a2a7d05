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

/** Headers of the transport, and those that browsers and proxies read for themselves. */
const UNTOLD =
  /^(connection|content-(length|type|encoding|security-policy)|cross-origin-.*|date|keep-alive|permissions-policy|referrer-policy|strict-transport-security|transfer-encoding|vary|x-content-type-options|access-control-.*)$/;

/** A schema whose references lead into the document, wherever it is compiled. */
const rooted = (schema) => JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'));

/** Checks values against schemas of the document, as JSON Schema 2020-12. */
export class Validator {
  #ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true });
  #document;

  constructor(document) {
    this.#document = document;
    addFormats(this.#ajv);
    // A frame of the stream holds JSON as text; the standard leaves it to the reader whether to look into it.
    this.#ajv.removeKeyword('contentSchema');
    this.#ajv.addKeyword({
      keyword: 'contentSchema',
      type: 'string',
      compile: (schema) => {
        let check;
        return (text) => {
          check ??= this.#ajv.compile(rooted(schema));
          try {
            return check(JSON.parse(text));
          } catch {
            return false;
          }
        };
      },
    });
    this.#ajv.addSchema({ $id: 'document', components: document.components });
  }

  /** What is wrong with `value`, a line each; nothing when it is what the schema says. */
  faults(schema, value) {
    const check = this.#ajv.compile(rooted(schema));
    if (check(value)) return [];
    return check.errors.slice(0, 5).map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
  }

  /** What is wrong with an answer of an operation: its status, headers that are promised or that nobody told of, media type, body. */
  answerFaults(operation, answer) {
    const response = follow(this.#document, operation.responses[answer.status]);
    if (!response) return [`${answer.status} is not documented: ${answer.text.slice(0, 200)}`];
    const faults = [];
    const told = new Map(Object.entries(response.headers ?? {}).map(([name, header]) => [name.toLowerCase(), follow(this.#document, header)]));
    for (const [name, { required, schema }] of told) {
      const value = answer.headers.get(name);
      if (value === null) {
        if (required) faults.push(`no ${name}`);
      } else {
        const read = schema.type === 'integer' ? Number(value) : value;
        faults.push(...this.faults(schema, read).map((fault) => `${name}${fault}`));
      }
    }
    for (const name of answer.headers.keys()) if (!told.has(name) && !UNTOLD.test(name)) faults.push(`${name} is not documented`);
    const content = response.content ?? {};
    const sent = answer.headers.get('content-type')?.split(';')[0];
    if (sent === undefined && answer.text !== '') faults.push('no content-type');
    if (sent !== undefined && !content[sent]) faults.push(`${sent} is not documented`);
    const schema = content['application/json']?.schema;
    if (schema && sent === 'application/json') faults.push(...this.faults(schema, answer.json));
    const { code } = answer.json?.error ?? {};
    if (code !== undefined && !response['x-codes']?.includes(code)) faults.push(`${code} is not documented for ${answer.status}`);
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
