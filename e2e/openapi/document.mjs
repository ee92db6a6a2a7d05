// The OpenAPI document as tests use it: its operations, their requests, and validators of their responses.

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

/** The target of a reference, or the value itself. */
export function follow(document, value) {
  if (!value?.$ref) return value;
  return value.$ref.slice(2).split('/').reduce((at, name) => at[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

/** Undocumented headers: those of the transport, and those that browsers and proxies evaluate. */
const UNDOCUMENTED =
  /^(connection|content-(length|type|encoding|security-policy)|cross-origin-.*|date|keep-alive|permissions-policy|referrer-policy|strict-transport-security|transfer-encoding|vary|x-content-type-options|access-control-.*)$/;

/** The schema with references to the document by its id, so that they resolve when the schema is compiled by itself. */
const rooted = (schema) => JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'));

/** Checks values against schemas of the document, as JSON Schema 2020-12. */
export class Validator {
  #ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true });
  #document;

  constructor(document) {
    this.#document = document;
    addFormats(this.#ajv);
    // A stream frame contains JSON as text; JSON Schema leaves it to the validator whether to check `contentSchema`.
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

  /** The first five violations of `schema` by `value`, one line each; empty if it is valid. */
  faults(schema, value) {
    const check = this.#ajv.compile(rooted(schema));
    if (check(value)) return [];
    return check.errors.slice(0, 5).map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
  }

  /** Deviations of an operation's response from the document: status, missing or undocumented headers, media type, body. */
  responseDeviations(operation, answer) {
    const response = follow(this.#document, operation.responses[answer.status]);
    if (!response) return [`${answer.status} is not documented: ${answer.text.slice(0, 200)}`];
    const faults = [];
    const documented = new Map(Object.entries(response.headers ?? {}).map(([name, header]) => [name.toLowerCase(), follow(this.#document, header)]));
    for (const [name, { required, schema }] of documented) {
      const value = answer.headers.get(name);
      if (value === null) {
        if (required) faults.push(`no ${name}`);
      } else {
        const read = schema.type === 'integer' ? Number(value) : value;
        faults.push(...this.faults(schema, read).map((fault) => `${name}${fault}`));
      }
    }
    for (const name of answer.headers.keys()) if (!documented.has(name) && !UNDOCUMENTED.test(name)) faults.push(`${name} is not documented`);
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

/** The target of a request, serialised as the document's parameters require. */
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

/** The example request of the document. */
export function exampleRequest(document, { operation }) {
  const values = { path: {}, query: {} };
  for (const parameter of operation.parameters.map((one) => follow(document, one))) {
    if (parameter.example !== undefined) values[parameter.in][parameter.name] = parameter.example;
  }
  values.body = operation.requestBody?.content['application/json'].example;
  return values;
}
