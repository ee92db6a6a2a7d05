// Derives a vault's platform and control inputs from the published answers about its protocol and about the vault itself, as a third party
// would, and compares them with the inputs in `score_provenance`.
//
// It reads the questions, cadences and points in /v1/methodology and the answers in the vault's detail. Where the methodology leaves open which
// of two equally weak values counts, each of them is accepted.

const DAY_MILLIS = 86_400_000;

/** The source that `score_provenance` states for an input that rests on answers. */
const RESTS_ON = /^answers about (.+)$/;

/**
 * The inputs that answers give: group and name in the provenance, and the question. A vault's registry entry may state the inputs with
 * `isOfVault`; it counts before an answer about the protocol.
 */
const INPUTS = [
  { group: 'platform', name: 'version_age_days', question: 'version_first_seen' },
  { group: 'platform', name: 'audits', question: 'audit' },
  { group: 'platform', name: 'newest_audit_days', question: 'audit' },
  { group: 'platform', name: 'bounty_usd', question: 'bounty_usd' },
  { group: 'platform', name: 'strategy', question: 'strategy', isOfVault: true },
  { group: 'platform', name: 'protocol_tvl_usd', question: 'protocol_tvl_usd' },
  { group: 'platform', name: 'dependencies', question: 'dependencies' },
  { group: 'platform', name: 'worst_dependency', question: 'dependencies' },
  { group: 'control', name: 'timelock_seconds', question: 'timelock', isOfVault: true },
  { group: 'control', name: 'signers', question: 'signers', isOfVault: true },
  { group: 'control', name: 'exit', question: 'exit', isOfVault: true },
  { group: 'control', name: 'source', question: 'source', isOfVault: true },
];

const dayOf = (millis) => Math.floor(millis / DAY_MILLIS);

/** One key for every spelling of a firm's name: its letters and digits in lower case. */
const firmKey = (firm) => firm.replace(/[^\p{Alphabetic}\p{N}]/gu, '').toLowerCase();

const isUnknown = (value) => value === null || value === 'unknown';

/** The rules of `/v1/methodology` about answers to inputs. */
export class ProtocolInputs {
  constructor({ rubric, vault }) {
    this.questions = rubric.protocol_inputs;
    this.expires = rubric.expires_after_cadences;
    this.strategies = vault.platform.strategies;
    this.dependency = vault.platform.dependency;
    this.factors = vault.platform.dependency.factors;
    this.control = vault.control;
  }

  /** Points of a value that the methodology has a table for. */
  points(question, value) {
    const { timelock, signers, exits, sources } = this.control;
    switch (question) {
      case 'strategy':
        return this.strategies[value];
      case 'timelock':
        if (value === 'immutable') return timelock.immutable;
        return (timelock.steps.find((step) => value >= step.from_seconds) ?? { counts: timelock.none }).counts;
      case 'signers':
        if (value === 'eoa') return signers.one_key;
        if (typeof value === 'string') return signers[value];
        return (signers.steps.find((step) => value.threshold >= step.threshold && value.owners >= step.owners) ?? { counts: signers.one_key }).counts;
      case 'exit':
        return exits[value];
      case 'source':
        return sources[value];
      default:
        throw new Error(`${question} has no points`);
    }
  }

  /** A number that is smaller for a weaker value. */
  strength(question, value) {
    switch (question) {
      case 'version_first_seen':
        return -Date.parse(value);
      case 'bounty_usd':
      case 'protocol_tvl_usd':
        return value;
      case 'timelock':
        return value === 'immutable' ? Infinity : value;
      default:
        return this.points(question, value);
    }
  }

  /** Whether a value counts less than the unknown input. */
  isBelowUnknown(question, value) {
    const unknown = { timelock: this.control.timelock.unknown, signers: this.control.signers.unknown, exit: this.control.exits.unknown }[question];
    return unknown !== undefined && this.points(question, value) < unknown;
  }

  /** The answers to a question that stand on the newest day, those withdrawn since, and whether the day's answers still count at `now`. */
  newest(question, answers, now) {
    const { evidence, cadence_seconds: cadence } = this.questions[question];
    const given = answers
      .filter((one) => one.input === question && evidence.includes(one.source_kind))
      .map((one) => ({ value: one.value, at: Date.parse(one.as_of), isWithdrawn: one.withdrawn_at !== null && Date.parse(one.withdrawn_at) <= now }))
      .filter((one) => one.at <= now);
    const standing = given.filter((one) => !one.isWithdrawn);
    const day = Math.max(-Infinity, ...standing.map(({ at }) => dayOf(at)));
    const chosen = standing.filter(({ at }) => dayOf(at) === day);
    const seconds = Math.floor((now - Math.max(...chosen.map(({ at }) => at))) / 1_000);
    return {
      standing,
      chosen,
      withdrawn: given.filter((one) => one.isWithdrawn && dayOf(one.at) >= day),
      counts: chosen.length > 0 && (cadence === null || seconds <= cadence * this.expires),
    };
  }

  /** The values that the answers to a question may give; several if they are equally weak, none without evidence. */
  values(question, answers, now) {
    const { standing, chosen, withdrawn, counts } = this.newest(question, answers, now);
    if (question === 'audit') return standing.length > 0 ? [standing.map(({ value }) => value)] : [];
    if (question === 'dependencies') return counts ? [[...new Set(chosen.flatMap(({ value }) => value))]] : [];
    const candidates = (counts ? chosen : [...chosen, ...withdrawn]).map(({ value }) => ({ value, strength: this.strength(question, value) }));
    const least = Math.min(...candidates.map(({ strength }) => strength));
    const weakest = candidates.filter(({ strength }) => strength === least).map(({ value }) => value);
    return weakest.filter((value) => counts || this.isBelowUnknown(question, value));
  }

  /** The protocols of all aged and withdrawn lists of dependencies; null if a list counts or none was given. */
  lapsed(answers, now) {
    const { chosen, withdrawn, counts } = this.newest('dependencies', answers, now);
    const lists = [...chosen, ...withdrawn].map(({ value }) => value);
    return counts || lists.length === 0 ? null : [...new Set(lists.flat())];
  }

  /** The factor of a platform vector with this many dependencies, in parts per million, as the methodology computes it. */
  factor(worst, count) {
    const { factors, free, step, floor } = this.dependency;
    const ppm = (number) => Math.round(number * 1_000_000);
    return Math.max(ppm(factors[worst]) - Math.max(0, count - free) * ppm(step), ppm(floor));
  }

  /** The differences of dependencies that follow from aged or withdrawn lists, which apply only where they count less than unknown ones. */
  judgeLapsed(vault, lapsed, published) {
    const { worst_dependency: { value: worst }, dependencies: { value: count } } = vault.score_provenance.inputs.platform;
    const applies = count === lapsed.length && this.factor(worst, count) < this.factor('unknown', 0);
    return applies ? [] : [`${vault.id} dependencies: ${count}, the worst ${worst}, from ${published.source} are published, aged and withdrawn lists give ${lapsed}`];
  }

  /** The values that an input may have at `now` by the answers about one subject; empty if they give none. */
  input(name, question, answers, now) {
    const days = (date) => Math.max(0, Math.floor((now - Date.parse(date)) / DAY_MILLIS));
    return this.values(question, answers, now).flatMap((value) => {
      switch (name) {
        case 'version_age_days':
          return [days(value)];
        case 'audits':
          return [new Set(value.map(({ firm }) => firmKey(firm))).size];
        case 'newest_audit_days':
          return [Math.min(...value.map(({ date }) => days(date)))];
        case 'dependencies':
          return [value.length];
        case 'worst_dependency':
          // The detail does not say which tiers the dependencies have, so that only an empty list gives the value.
          return value.length === 0 ? ['none'] : Object.keys(this.factors).filter((tier) => tier !== 'none');
        default:
          return [value];
      }
    });
  }

  /** The inputs of a vault with every value that rests on answers derived from them, and the differences from the published values. */
  derive(vault) {
    const inputs = structuredClone(vault.score_provenance.inputs);
    const differences = INPUTS.flatMap((input) => this.judge(vault, input, inputs[input.group][input.name]));
    return { inputs, differences };
  }

  /** The differences of one input; sets `published.value` to what the answers give. */
  judge(vault, { name, question, isOfVault = false }, published) {
    const now = Date.parse(vault.score_computed_at);
    const answers = vault.score_evidence?.answers ?? [];
    const about = (subject) => this.input(name, question, answers.filter((one) => one.subject === subject), now);
    const [own, protocol] = [about(vault.id), about(vault.protocol_id)];
    const restsOn = published.source?.match(RESTS_ON)?.[1] ?? null;
    const isEntry = restsOn === null && isOfVault && !isUnknown(published.value);
    const [subject, possible] = own.length > 0 ? [vault.id, own] : [vault.protocol_id, isEntry ? [] : protocol];
    const derived = possible.find((value) => JSON.stringify(value) === JSON.stringify(published.value));
    if (question === 'dependencies' && possible.length === 0 && restsOn !== null) {
      const lapsed = this.lapsed(answers.filter((one) => one.subject === restsOn), now);
      if (lapsed !== null) return this.judgeLapsed(vault, lapsed, published);
    }
    const stated = `${vault.id} ${name}: ${JSON.stringify(published.value)} from ${published.source} is published`;
    if (possible.length === 0) return restsOn === null ? [] : [`${stated}, no answer gives a value`];
    if (restsOn === subject && derived !== undefined) return [];
    published.value = derived ?? possible[0];
    return [`${stated}, the answers about ${subject} give ${possible.map((value) => JSON.stringify(value)).join(' or ')}`];
  }
}
