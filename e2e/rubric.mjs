// Computes the values of an asset's dimensions from its published answers and the questionnaire in /v1/methodology, as a third party would.
//
// Points are integers of hundredths. Every number comes from the questionnaire.

const hundredths = (points) => Math.round(points * 100);
const DAY_MILLIS = 86_400_000;

/** n/d rounded half to even, for n >= 0 and d > 0. */
function round(n, d) {
  const [whole, rest] = [Math.floor(n / d), 2 * (n % d)];
  return rest > d || (rest === d && whole % 2 === 1) ? whole + 1 : whole;
}

/** The questionnaire of `/v1/methodology`. */
export class Rubric {
  constructor(rubric) {
    this.rules = rubric;
  }

  /** The state of one question: the answer that decides, its points and ceilings, and its date. */
  settle(question, answers, now) {
    const options = new Map(question.answers.map((option, place) => [option.id, { ...option, place }]));
    const given = answers
      .filter((one) => one.question === question.id && options.has(one.answer) && question.evidence.includes(one.source_kind))
      .map((one) => ({ ...options.get(one.answer), at: Date.parse(one.as_of), isWithdrawn: one.withdrawn_at !== null && Date.parse(one.withdrawn_at) <= now }))
      .filter((one) => one.at <= now);
    const day = ({ at }) => Math.floor(at / DAY_MILLIS);
    const standing = given.filter((one) => !one.isWithdrawn);
    const newest = Math.max(-Infinity, ...standing.map(day));
    const chosen = standing.filter((one) => day(one) === newest);
    const weakest = (some) => some.reduce((worst, one) => (one.place > worst.place ? one : worst));
    const latest = Math.max(-Infinity, ...chosen.map(({ at }) => at));
    if (chosen.length > 0 && Math.floor((now - latest) / 1_000) <= question.cadence_seconds * this.rules.expires_after_cadences) {
      return { isOpen: false, hasEvidence: true, answer: weakest(chosen), points: hundredths(weakest(chosen).points), at: latest };
    }
    const withdrawn = given.filter((one) => one.isWithdrawn && day(one) >= newest);
    const left = [...chosen, ...withdrawn];
    if (left.length === 0) return { isOpen: true, hasEvidence: false, answer: null, points: hundredths(this.rules.unknown), at: null };
    const hasEvidence = chosen.length > 0 && withdrawn.every((one) => day(one) === newest);
    const most = hundredths(hasEvidence ? this.rules.aged : this.rules.unknown);
    const answer = weakest(left);
    return { isOpen: true, hasEvidence, answer, points: Math.min(hundredths(answer.points), most), at: Math.min(...left.map(({ at }) => at)) };
  }

  /** The value of a dimension in hundredths, with its range; `value` is null without enough evidence. */
  dimension(name, answers, now) {
    const { questions } = this.rules.dimensions[name];
    const about = answers.filter((one) => one.dimension === name);
    const parts = questions.map((question) => ({ question, weight: Math.round(question.weight * 100), ...this.settle(question, about, now) }));
    const ceiling = (option) => (option?.ceiling ?? null) === null ? Infinity : hundredths(option.ceiling);
    const total = (pointsOf, ceilingOf) =>
      Math.min(round(parts.reduce((sum, part) => sum + part.weight * pointsOf(part), 0), 100), ...parts.map(ceilingOf));
    const options = (part) => (part.isOpen ? part.question.answers : []);
    const computed = total((part) => part.points, (part) => ceiling(part.answer));
    const unknown = parts.filter((part) => !part.hasEvidence).reduce((sum, part) => sum + part.weight, 0);
    const isWithheld = unknown > Math.round(this.rules.max_unknown_weight * 100) && computed >= hundredths(this.rules.unknown);
    return {
      value: isWithheld ? null : computed,
      lowest: total(
        (part) => Math.min(part.points, ...options(part).map(({ points }) => hundredths(points))),
        (part) => Math.min(ceiling(part.answer), ...options(part).map(ceiling)),
      ),
      highest: total(
        (part) => Math.max(part.points, ...options(part).map(({ points }) => hundredths(points))),
        (part) => (part.isOpen ? Infinity : ceiling(part.answer)),
      ),
      known: 100 - unknown,
      ages: parts.filter(({ at }) => at !== null).map(({ weight, at, question }) => ({ weight, at, cadence: question.cadence_seconds })),
    };
  }

  /** The limit by who can raise the supply, in hundredths: now, and with the open questions at their worst and best. */
  supply(category, answers, now) {
    if (answers.length === 0 || !this.rules.supply_categories.includes(category)) return null;
    const limits = Object.entries(this.rules.dimensions).flatMap(([name, { questions }]) => questions
      .filter((question) => question.limits_supply)
      .map((question) => {
        const allowed = (option) => (option?.score_ceiling ?? null) === null ? 1_000 : hundredths(option.score_ceiling);
        const part = this.settle(question, answers.filter((one) => one.dimension === name), now);
        const limit = part.isOpen ? Math.min(allowed(part.answer), hundredths(this.rules.unknown_supply_ceiling)) : allowed(part.answer);
        const every = [limit, ...(part.isOpen ? question.answers.map(allowed) : [])];
        return { limit, lowest: Math.min(...every), highest: Math.max(...every) };
      }));
    const least = (field) => Math.min(...limits.map((one) => one[field]));
    return { limit: least('limit'), lowest: least('lowest'), highest: least('highest') };
  }

  /** Date and cadence of the answer at which half of the answered weight is reached, freshest in cadences first; null without answers. */
  refresh(weights, dimensions, now) {
    const ages = Object.entries(weights).flatMap(([name, weight]) =>
      dimensions[name].ages.map((age) => ({ ...age, weight: age.weight * Math.round(weight * 100), seconds: Math.max(0, Math.floor((now - age.at) / 1_000)) })));
    ages.sort((a, b) => a.seconds * b.cadence - b.seconds * a.cadence || b.at - a.at || a.cadence - b.cadence);
    const half = ages.reduce((sum, { weight }) => sum + weight, 0) / 2;
    let reached = 0;
    for (const age of ages) {
      reached += age.weight;
      if (reached >= half) return age;
    }
    return null;
  }
}
