// As much of PromQL as the alert rules are made of, evaluated over samples that a test makes up.

import assert from 'node:assert/strict';
import { parser } from '@prometheus-io/lezer-promql';

/**
 * What an expression comes to, as `[{labels, value}]`: an alert whose expression comes to nothing is silent.
 *
 * `samples` are `[name, value, labels]`. The value of a counter is its rate; an increase is what that adds up to.
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
        throw new Error(`${node.name} is not evaluated here: ${text(node)}`);
    }
  }

  function selected([identifier, matchers]) {
    const wanted = (matchers ? children(matchers) : []).map((matcher) => children(matcher).map(text));
    const holds = ([name, operator, quoted], labels) => {
      const [is, asked] = [labels[name] ?? '', JSON.parse(quoted)];
      const same = operator.endsWith('~') ? new RegExp(`^(?:${asked})$`).test(is) : is === asked;
      return operator.startsWith('!') ? !same : same;
    };
    return samples
      .filter(([name, , labels = {}]) => name === text(identifier) && wanted.every((matcher) => holds(matcher, labels)))
      .map(([, of, labels = {}]) => ({ labels, value: of }));
  }

  function called(name, vector) {
    const each = { rate: (of) => of, increase: (of) => of, changes: (of) => of, deriv: (of) => of, abs: Math.abs }[name];
    assert.ok(each, `${name}() is not evaluated here`);
    return vector.map(({ labels, value: of }) => ({ labels, value: each(of) }));
  }

  function aggregated(parts) {
    const vector = value(parts.at(-1));
    assert.equal(parts.length, 2, 'only of everything');
    if (vector.length === 0) return [];
    const all = vector.map(({ value: of }) => of);
    const made = { sum: all.reduce((sum, of) => sum + of, 0), max: Math.max(...all), min: Math.min(...all), count: all.length }[text(parts[0])];
    assert.notEqual(made, undefined, text(parts[0]));
    return [{ labels: {}, value: made }];
  }

  function combined(parts) {
    const [left, right] = [value(parts[0]), value(parts.at(-1))];
    const operator = parts[1].name;
    const on = parts.find((part) => part.name === 'MatchingModifierClause');
    assert.ok(!on || /^on \(\)$/.test(text(on)), 'only on nothing');
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
      const made = right.map(({ labels, value: of }) => ({ labels, value: counted(operator, left, of) }));
      return made;
    }
    return left.flatMap((one) => {
      const other = partner(one);
      if (!other) return [];
      const compare = COMPARE[operator];
      if (compare) return compare(one.value, other.value) ? [one] : [];
      return [{ labels: one.labels, value: counted(operator, one.value, other.value) }];
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

function counted(operator, one, other) {
  const made = { Mul: one * other, Sub: one - other, Add: one + other, Div: one / other }[operator];
  assert.notEqual(made, undefined, `${operator} is not evaluated here`);
  return made;
}
