// Evaluates the subset of PromQL that the alert rules use, over a test's samples.

import assert from 'node:assert/strict';
import { parser } from '@prometheus-io/lezer-promql';

/**
 * The value of an expression, as `[{labels, value}]`; an alert fires unless the list is empty.
 *
 * `samples` are `[name, value, labels]`. Range functions return the sample's value: a counter's sample is its rate or increase.
 */
export function evaluate(expression, samples) {
  const text = (node) => expression.slice(node.from, node.to);
  const children = (node) => {
    const found = [];
    for (let child = node.firstChild; child; child = child.nextSibling) found.push(child);
    return found;
  };

  function value(node) {
    const parts = children(node);
    switch (node.name) {
      case 'PromQL':
      case 'ParenExpr':
      case 'FunctionCallBody':
      case 'MatrixSelector':
        return value(parts[0]);
      case 'NumberDurationLiteral':
        return Number(text(node));
      case 'VectorSelector':
        return selected(parts);
      case 'FunctionCall':
        return called(text(parts[0]), value(parts[1]));
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

  function called(name, vector) {
    const same = (number) => number;
    const apply = { rate: same, increase: same, changes: same, deriv: same, abs: Math.abs }[name];
    assert.ok(apply, `${name}() is not supported`);
    return vector.map(({ labels, value: number }) => ({ labels, value: apply(number) }));
  }

  function aggregated(parts) {
    const vector = value(parts.at(-1));
    assert.equal(parts.length, 2, 'an aggregation with `by` or `without` is not supported');
    if (vector.length === 0) return [];
    const all = vector.map((one) => one.value);
    const result = { sum: all.reduce((sum, number) => sum + number, 0), max: Math.max(...all), min: Math.min(...all), count: all.length }[text(parts[0])];
    assert.notEqual(result, undefined, text(parts[0]));
    return [{ labels: {}, value: result }];
  }

  function combined(parts) {
    const [left, right] = [value(parts[0]), value(parts.at(-1))];
    const operator = parts[1].name;
    const on = parts.find((part) => part.name === 'MatchingModifierClause');
    assert.ok(!on || /^on \(\)$/.test(text(on)), 'the only supported modifier is `on ()`');
    const key = ({ labels }) => (on ? '' : JSON.stringify(Object.entries(labels).sort()));
    const partner = (one) => (typeof right === 'number' ? { value: right } : right.find((other) => key(other) === key(one)));
    switch (operator) {
      case 'And':
        return left.filter(partner);
      case 'Unless':
        return left.filter((one) => !partner(one));
      case 'Or':
        return [...left, ...right.filter((one) => !left.some((other) => key(other) === key(one)))];
    }
    if (typeof left === 'number') {
      return right.map(({ labels, value: number }) => ({ labels, value: arithmetic(operator, left, number) }));
    }
    return left.flatMap((one) => {
      const other = partner(one);
      if (!other) return [];
      const compare = COMPARE[operator];
      if (compare) return compare(one.value, other.value) ? [one] : [];
      return [{ labels: one.labels, value: arithmetic(operator, one.value, other.value) }];
    });
  }

  return value(parser.parse(expression).topNode);
}

const COMPARE = {
  Gtr: (one, other) => one > other,
  Lss: (one, other) => one < other,
  Gte: (one, other) => one >= other,
  Eql: (one, other) => one === other,
};

function arithmetic(operator, one, other) {
  const result = { Mul: one * other, Sub: one - other, Add: one + other, Div: one / other }[operator];
  assert.notEqual(result, undefined, `${operator} is not supported`);
  return result;
}
