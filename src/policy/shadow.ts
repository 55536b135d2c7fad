import type { Json } from '../base/canonical.ts'
import { type CallRecord, type PolicyDecision, policyDecision, redactedText } from '../model/evidence.ts'
import type { Facts } from './conditions/values.ts'
import { judge, type Ruling, unknown } from './decide.ts'
import { strictest } from './decisions.ts'
import { readWritten } from './history.ts'
import type { Applicable, PolicySet } from './policies.ts'

/** What other policies would have answered to a call that was decided. */
export type ShadowAnswer =
  /** They would have changed nothing. What was decided is always as the record says it. */
  | { readonly is: 'equal'; readonly decision: PolicyDecision }
  | { readonly is: 'differs'; readonly from: PolicyDecision; readonly to: PolicyDecision; readonly rule: string | null }
  /** It depends on facts of which no value was kept. */
  | { readonly is: 'needs'; readonly from: PolicyDecision; readonly fields: readonly string[] }

export interface RecordedCall {
  readonly capabilityId: string
  /** When it was recorded: the `now` of its rules. */
  readonly timestamp: string
  readonly record: CallRecord
  /** The capability asks for a yes by its own declaration, whatever the policies say. */
  readonly asks?: boolean
  /** What rules read of the capability, where it is known to be described as it was then. */
  readonly capability?: Facts
}

/** Decides a recorded call again. Undefined where policy did not decide it, or no enforced policy applies to it. */
export function shadow(set: PolicySet, call: RecordedCall): ShadowAnswer | undefined {
  const before = decisionIn(call.record)
  const applicable = set.applicable(call.capabilityId)
  if (before === undefined || applicable.policies.length === applicable.audited.length) return undefined
  const recordedAsk = asksIn(call.record)
  const floor = call.asks === true ? declaredAsk : recordedAsk
  const { ruling, needs } = judge(applicable, recordedFacts(applicable, call), (made) => withFloor(made, floor))
  const decided = { decision: before, rule: null }
  const from = withFloor(decided, recordedAsk).decision
  if (needs.length > 0) return { is: 'needs', from, fields: needs }
  const { decision: to, rule } = ruling
  // What asks by itself today does so under either policy: that is no change of theirs.
  const isEqual = withFloor(decided, floor).decision === to
  return isEqual ? { is: 'equal', decision: from } : { is: 'differs', from, to, rule }
}

/** What the rules answered, or where none speaks of the capability its declaration. Other gates are not asked again. */
function decisionIn({ basis = [] }: CallRecord): PolicyDecision | undefined {
  const ruled = basis.filter(({ gate, rule }) => gate === 6 && (rule === silence || !/^(?:gate|host)\//.test(rule)))
  return strictest(ruled.flatMap(({ effect }) => policyDecision.safeParse(effect).data ?? []))
}

const silence = 'gate/no_matching_allow'
const declaredAsk = 'declared/approval_required'

/** What of a capability's own declaration asked for a yes. */
const asksIn = ({ basis = [] }: CallRecord): string | undefined =>
  basis.find(({ gate, effect }) => gate === 8 && effect === 'requires_approval')?.rule

/** A declaration that asks is met as well: it makes an allow a question, and nothing milder. */
const withFloor = <T extends Pick<Ruling, 'decision' | 'rule'>>(ruling: T, floor: string | undefined): T =>
  floor !== undefined && ruling.decision === 'allow'
    ? { ...ruling, decision: 'requires_approval', rule: floor }
    : ruling

/** The facts of a call as far as its record has them; what is not kept stands there as a fault that says so. */
function recordedFacts({ rules }: Applicable, call: RecordedCall): Facts {
  const { capabilityId, timestamp, record } = call
  const entries = record.context ?? []
  const purpose = entries.find(({ source }) => source === 'metadata:/purpose')
  const facts: Record<string, unknown> = {
    subject: record.subject,
    actor: record.actor,
    environment: record.correlation.environment,
    now: timestamp,
    purpose: keptOf(purpose, 'purpose'),
  }
  const named = { id: capabilityId, version: record.capability_version }
  const kept: Record<string, Readonly<Record<string, unknown>>> = {
    context: Object.fromEntries(entries.map((entry) => [entry.name, keptOf(entry, `context.${entry.name}`)])),
    capability: { ...call.capability, ...keptIn(record, 'capability'), ...named },
    ...Object.fromEntries(['history', 'run', 'user', 'agent'].map((root) => [root, keptIn(record, root)])),
  }
  for (const path of new Set(rules.flatMap(({ condition }) => condition.reads))) {
    const [root = '', member] = path.split('.')
    if (kept[root] !== undefined && member !== undefined) kept[root] = { [member]: unknown(path), ...kept[root] }
    else if (!Object.hasOwn(facts, root)) facts[root] = unknown(root)
  }
  return readWritten({ ...kept, ...facts } as Facts)
}

const keptIn = ({ facts = {} }: CallRecord, root: string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(facts).flatMap(([path, value]) =>
      path.startsWith(`${root}.`) ? [[path.slice(root.length + 1), value]] : [],
    ),
  )

type Entry = NonNullable<CallRecord['context']>[number]

function keptOf(entry: Entry | undefined, path: string): unknown {
  if (entry?.state === 'absent') return undefined
  const isKept = entry?.state === 'present' && entry.value !== undefined && isWhole(entry.value as Json)
  return isKept ? entry.value : unknown(path, entry?.state === 'present')
}

/** Evidence holds fractions as text, so that such a text may have been either; and what was hidden is gone. */
function isWhole(value: Json): boolean {
  if (typeof value === 'string') return !value.includes(redactedText) && !isFraction(value)
  return typeof value !== 'object' || value === null || Object.values(value).every((part) => isWhole(part ?? null))
}

const isFraction = (text: string): boolean =>
  text.trim() !== '' && Number.isFinite(Number(text)) && !Number.isInteger(Number(text))
