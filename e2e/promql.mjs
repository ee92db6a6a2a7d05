// Evaluates the subset of PromQL that the alert rules, the recording rules and the dashboard use, over a test's samples.

import assert from 'node:assert/strict';
import { parser } from '@prometheus-io/lezer-promql';

/**
 * The value of an expression, as `[{labels, value}]`, or a number if it is a scalar; an alert fires unless the list is empty.
 *
 * `samples` are `[name, value, labels]`. Range functions return the sample's value: a counter's sample is its rate or increase, a gauge's
 * its average. A value that differs between ranges is a function from the range in seconds to the rate or average.
 */
export function evaluate(expression, samples) {
  const text = (node) => expression.slice(node.from, node.to);

  function value(node) {
    const parts = children(node);
    switch (node.name) {
      case 'PromQL':
      case 'ParenExpr':
      case 'OffsetExpr':
        return value(parts[0]);
      case 'MatrixSelector':
        return value(parts[0]).map(({ labels, value: at }) => inRange(labels, at, seconds(text(parts[1]))));
      case 'NumberDurationLiteral':
        return Number(text(node));
      case 'StringLiteral':
        return JSON.parse(text(node));
      case 'UnaryExpr':
        return -value(parts[1]);
      case 'VectorSelector':
        return selected(parts);
      case 'FunctionCall':
        return called(text(parts[0]), children(parts[1]).map(value));
      case 'AggregateExpr':
        return aggregated(parts);
      case 'BinaryExpr':
        return combined(parts);
      default:
        throw new Error(`${node.name} is not supported: ${text(node)}`);
    }
  }

  function selected([identifier, matchers]) {
    const wanted = (matchers ? children(matchers) : []).map((matcher) => children(matcher).map(text));
    const matches = ([name, operator, quoted], labels) => {
      const [actual, expected] = [labels[name] ?? '', JSON.parse(quoted)];
      const same = operator.endsWith('~') ? new RegExp(`^(?:${expected})$`).test(actual) : actual === expected;
      return operator.startsWith('!') ? !same : same;
    };
    return samples
      .filter(([name, , labels = {}]) => name === text(identifier) && wanted.every((matcher) => matches(matcher, labels)))
      .map(([, number, labels = {}]) => ({ labels, value: number }));
  }

  function aggregated(parts) {
    const modifier = parts.find(({ name }) => name === 'AggregateModifier');
    const given = children(parts.find(({ name }) => name === 'FunctionCallBody')).map(value);
    const vector = given.at(-1);
    const [kind, labels] = modifier ? [children(modifier)[0].name, labelNames(children(modifier)[1])] : ['By', []];
    const groups = new Map();
    for (const one of vector) {
      const kept = Object.fromEntries(Object.entries(one.labels).filter(([name]) => labels.includes(name) === (kind === 'By')));
      const key = identity(kept);
      if (!groups.has(key)) groups.set(key, { labels: kept, all: [] });
      groups.get(key).all.push(one);
    }
    const operator = text(parts[0]);
    if (operator === 'topk') {
      return [...groups.values()].flatMap(({ all }) => all.sort((one, other) => other.value - one.value).slice(0, given[0]));
    }
    const reduce = AGGREGATIONS[operator];
    assert.ok(reduce, `${operator} is not supported`);
    return [...groups.values()].map(({ labels: kept, all }) => ({ labels: kept, value: reduce(all.map((one) => one.value)) }));
  }

  /** The names in a list of labels. */
  function labelNames(node) {
    return children(node).map(text);
  }

  function combined(parts) {
    const [left, right] = [value(parts[0]), value(parts.at(-1))];
    const operator = parts[1].name;
    const modifier = children(parts.find(({ name }) => name === 'MatchingModifierClause'));
    const listed = modifier.length > 0 ? labelNames(modifier[1]) : [];
    const isOn = modifier[0]?.name === 'On';
    const key = ({ labels }) => identity(Object.fromEntries(Object.entries(labels).filter(([name]) => listed.includes(name) === isOn)));
    const isMany = modifier.some(({ name }) => name === 'GroupLeft');
    const partner = (one) => {
      if (typeof right === 'number') return { value: right };
      const found = right.filter((other) => key(other) === key(one));
      assert.ok(found.length < 2, `several series match on the right of ${expression}`);
      return found[0];
    };
    if (['And', 'Unless', 'Or'].includes(operator)) {
      const isIn = (one, others) => others.some((other) => key(other) === key(one));
      if (operator === 'Or') return [...left, ...right.filter((one) => !isIn(one, left))];
      return left.filter((one) => isIn(one, right) === (operator === 'And'));
    }
    const [compare, isBool] = [COMPARE[operator], parts.some(({ name }) => name === 'BoolModifier')];
    const result = (one, other) => (compare ? Number(compare(one, other)) : arithmetic(operator, one, other));
    const holds = (one, other) => !compare || isBool || compare(one, other);
    if (typeof left === 'number' && typeof right === 'number') return result(left, right);
    if (typeof left === 'number') {
      const kept = right.filter((one) => holds(left, one.value));
      return kept.map((one) => ({ labels: one.labels, value: compare && !isBool ? one.value : result(left, one.value) }));
    }
    const pairs = left.map((one) => [one, partner(one)]).filter(([one, other]) => other && holds(one.value, other.value));
    if (typeof right !== 'number' && !isMany) {
      assert.equal(new Set(pairs.map(([one]) => key(one))).size, pairs.length, `several series match on the left of ${expression}`);
    }
    return pairs.map(([one, other]) => ({ labels: one.labels, value: compare && !isBool ? one.value : result(one.value, other.value) }));
  }

  return value(parser.parse(expression).topNode);
}

/** The metric names of an expression, the label names in its selectors and groupings, and its syntax errors. */
export function parts(expression) {
  const found = { metrics: new Set(), labels: new Set(), errors: [] };
  parser.parse(expression).iterate({
    enter(node) {
      const text = expression.slice(node.from, node.to);
      if (node.type.isError) found.errors.push(`at ${node.from}`);
      if (node.name === 'Identifier') found.metrics.add(text);
      if (node.name === 'LabelName') found.labels.add(text);
    },
  });
  return found;
}

/** Samples `[name, value, labels]` of a page of metrics; a scrape adds its labels, as Prometheus does. */
export function samplesOf(page, added = {}) {
  return page
    .split('\n')
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', number] = line.match(/^([a-z0-9_]+)(?:\{(.*?)\})? ([^ ]+)/);
      const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label, text]) => [label, text]);
      return [name, Number(number), { ...added, ...Object.fromEntries(pairs) }];
    });
}

/** Adds the series of recording rules to `samples`, in the rules' order: a rule may use the ones before it. */
export function record(rules, samples) {
  const all = [...samples];
  for (const { record: name, expr } of rules.filter((rule) => rule.record)) {
    for (const { labels, value } of evaluate(expr, all)) all.push([name, value, labels]);
  }
  return all;
}

function children(node) {
  const found = [];
  for (let child = node?.firstChild; child; child = child.nextSibling) found.push(child);
  return found;
}

const identity = (labels) => JSON.stringify(Object.entries(labels).sort());

/** A series in a range. `seconds` is the range's length if the value is a rate in it. */
function inRange(labels, at, range) {
  return typeof at === 'function' ? { labels, value: at(range), seconds: range } : { labels, value: at };
}

/** The seconds of a duration with one unit, such as `5m`. */
function seconds(duration) {
  const [, number, unit] = duration.match(/^(\d+)([smhd])$/);
  return Number(number) * { s: 1, m: 60, h: 3_600, d: 86_400 }[unit];
}

function called(name, given) {
  if (name === 'time') return Date.now() / 1000;
  if (name === 'vector') return [{ labels: {}, value: given[0] }];
  if (name === 'increase') return given[0].map(({ labels, value: rate, seconds: range = 1 }) => ({ labels, value: rate * range }));
  if (name === 'histogram_quantile') return quantiles(...given);
  const apply = {
    ...Object.fromEntries(RANGE_FUNCTIONS.map((range) => [range, (number) => number])),
    abs: Math.abs,
    clamp_max: Math.min,
    clamp_min: Math.max,
  }[name];
  assert.ok(apply, `${name}() is not supported`);
  return given[0].map(({ labels, value: number }) => ({ labels, value: apply(number, ...given.slice(1)) }));
}

const RANGE_FUNCTIONS = ['rate', 'changes', 'deriv', 'avg_over_time', 'max_over_time'];

/** As `histogram_quantile`, but the result is the bucket's upper bound: tests need no interpolation. */
function quantiles(quantile, buckets) {
  const groups = new Map();
  for (const { labels: { le, ...labels }, value } of buckets) {
    assert.ok(le !== undefined, 'histogram_quantile() needs the label `le`');
    const key = identity(labels);
    if (!groups.has(key)) groups.set(key, { labels, bounds: [] });
    groups.get(key).bounds.push([le === '+Inf' ? Infinity : Number(le), value]);
  }
  return [...groups.values()].map(({ labels, bounds }) => {
    bounds.sort(([one], [other]) => one - other);
    const all = bounds.at(-1)[1];
    return { labels, value: all > 0 ? bounds.find(([, count]) => count >= quantile * all)[0] : NaN };
  });
}

const AGGREGATIONS = {
  sum: (all) => all.reduce((sum, number) => sum + number, 0),
  avg: (all) => all.reduce((sum, number) => sum + number, 0) / all.length,
  max: (all) => Math.max(...all),
  min: (all) => Math.min(...all),
  count: (all) => all.length,
};

const COMPARE = {
  Gtr: (one, other) => one > other,
  Lss: (one, other) => one < other,
  Gte: (one, other) => one >= other,
  Lte: (one, other) => one <= other,
  Eql: (one, other) => one === other,
  EqlC: (one, other) => one === other,
  Neq: (one, other) => one !== other,
};

function arithmetic(operator, one, other) {
  const result = { Mul: one * other, Sub: one - other, Add: one + other, Div: one / other }[operator];
  assert.notEqual(result, undefined, `${operator} is not supported`);
  return result;
}
