import type { Facts } from './conditions/values.ts'
import type { PolicySet } from './policies.ts'
import type { CompiledRule } from './rule.ts'

/** What is known before anybody calls. */
const known: ReadonlySet<string> = new Set(['subject', 'capability'])

/**
 * True if the rules refuse every call of this capability by this subject, whatever else is true of the call. Rules that
 * read anything but the subject and the capability are left open: they may say yes and they may say nothing.
 */
export function isHopeless(
  set: PolicySet,
  capabilityId: string,
  facts: Readonly<Pick<Facts, 'subject' | 'capability'>>,
): boolean {
  const { rules, policies, audited } = set.applicable(capabilityId)
  if (policies.every(({ name }) => audited.includes(name))) return false
  const enforced = rules.filter(({ enforced }) => enforced)
  const settled = (rule: CompiledRule) => (isKnown(rule) ? rule.condition.evaluate(facts as Facts) : undefined)
  if (enforced.some((rule) => refuses(rule) && settled(rule) === true)) return true
  return enforced.filter((rule) => !refuses(rule)).every((rule) => settled(rule) === false)
}

const isKnown = ({ condition }: CompiledRule): boolean =>
  condition.reads.every((path) => known.has(path.split('.', 1)[0] ?? ''))

const refuses = ({ decision }: CompiledRule): boolean => decision === 'deny' || decision === 'sandbox_only'
