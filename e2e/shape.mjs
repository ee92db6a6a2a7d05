// Shapes of JSON values as data, and the check of a value against its shape.

export const text = leaf('a text', (value) => typeof value === 'string');
export const number = leaf('a number', (value) => typeof value === 'number');
export const count = leaf('a count', (value) => Number.isInteger(value) && value >= 0);
export const flag = leaf('true or false', (value) => typeof value === 'boolean');
/** 0 to 10 with at most three decimals. */
export const score = leaf('a score', (value) => typeof value === 'number' && value >= 0 && value <= 10 && isMilli(value));
/** A share of a whole, 0 to 1. */
export const fraction = leaf('a fraction', (value) => typeof value === 'number' && value >= 0 && value <= 1);
/** An integer of any size, as digits. */
export const decimalDigits = leaf('decimal digits', (value) => typeof value === 'string' && /^(0|[1-9]\d*)$/.test(value));
/** ISO 8601 in UTC with milliseconds. */
export const instant = leaf('an instant', (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value));
/** A UTC day. */
export const day = leaf('a day', (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value));
/** ISO 8601 in UTC with microseconds, as in the asset and RWA resources. */
export const micros = leaf('an instant with microseconds', (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value));
/** Any JSON value including null; another test checks its shape. */
export const anything = leaf('anything', (value) => value !== undefined);

/** One of a closed set of words. */
export const oneOf = (...words) => leaf(`one of ${words.join(', ')}`, (value) => words.includes(value));
/** The shape or null; the field must be present. */
export const nullable = (shape) => (value, where) => (value === null ? [] : shape(value, where));
/** A list of rows of one shape. */
export const listOf = (shape) => (value, where) =>
  Array.isArray(value) ? value.flatMap((item, index) => shape(item, `${where}[${index}]`)) : [`${where} is not a list`];

/** An object with exactly these fields. */
export const record = (fields) => (value, where) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [`${where} is not an object`];
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
  return [
    ...unknown.map((name) => `${where}.${name} is not in the interface`),
    ...Object.entries(fields).flatMap(([name, shape]) =>
      Object.hasOwn(value, name) ? shape(value[name], `${where}.${name}`) : [`${where}.${name} is missing`],
    ),
  ];
};

/** The deviations of a value from a shape, one sentence each; empty if it has the shape. */
export const faults = (shape, value, where = 'body') => shape(value, where);

function leaf(name, isValid) {
  return (value, where) => (isValid(value) ? [] : [`${where} should be ${name}, but is ${JSON.stringify(value)}`]);
}

function isMilli(value) {
  return Math.abs(value * 1000 - Math.round(value * 1000)) < 1e-6;
}
