import type { Json } from '../../base/canonical.ts'
import { counted, shortened } from '../../base/words.ts'
import type { PolicyDecision } from '../../model/evidence.ts'
import type { ApprovalTerms } from '../../model/policy.ts'
import type { Ruling } from '../../policy/decide.ts'
import type { Explanation } from '../../policy/explain.ts'
import type { ShadowedCall } from '../../runtime/policy/shadow.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'
import type { FileCheck } from './files.ts'

export function printChecks(io: Io, checks: readonly FileCheck[]): void {
  const width = Math.max(...checks.map(({ file }) => file.length))
  for (const { file, name = '', version = '', hash = '', rules = 0, problems } of checks) {
    const shown = plain(file.padEnd(width))
    const what = `${plain(name)} ${plain(version)}, ${counted(rules, 'rule')}, ${hash}`
    if (problems.length === 0) line(io, `${paint(io, 'green', 'ok')}   ${shown}  ${what}`)
    for (const { pointer, message, code, help } of problems) {
      line(io, `${paint(io, 'red', 'bad')}  ${shown}  ${plain(pointer ? `${pointer}: ${message}` : message)} (${code})`)
      if (help !== undefined) line(io, paint(io, 'dim', `${' '.repeat(width + 7)}${plain(help)}`))
    }
  }
}

type Answer = Pick<Ruling, 'decision' | 'rule' | 'reason'>

export interface TestResult {
  readonly name: string
  readonly passed: boolean
  readonly expected: { readonly decision: PolicyDecision; readonly rule?: string | null | undefined }
  readonly got: Answer
}

export function printTests(io: Io, results: readonly TestResult[]): void {
  printColumns(io, results, 'none', {
    '': ({ passed }) => (passed ? 'ok' : 'FAILED'),
    CASE: ({ name }) => name,
    EXPECTED: ({ expected: { decision, rule } }) =>
      rule === undefined ? decision : `${decision} by ${rule ?? 'none'}`,
    DECIDED: ({ got }) => `${got.decision} by ${got.rule ?? got.reason ?? 'none'}`,
  })
  const failed = results.filter(({ passed }) => !passed).length
  line(io)
  const all = counted(results.length, 'case')
  line(io, failed === 0 ? `${all}, all as expected` : `${failed} of ${all} failed`)
}

const verdicts = { holds: 'holds', does_not_hold: 'does not hold', undecided: 'undecided', error: 'error' } as const

export function printExplanation(io: Io, { ruling, needs, rules, turns }: Explanation): void {
  const isTold = needs.length === 0
  const [answer, why] = isTold ? [ruling.decision, because(ruling)] : ['cannot be told', `needs ${needs.join(', ')}`]
  line(io, `${paint(io, 'bold', answer)}  ${plain(why)}`)
  for (const each of isTold ? ruling.approval : []) line(io, plain(terms(each)))
  line(io)
  printColumns(io, rules, 'no policy is about this capability', {
    RULE: ({ rule }) => rule,
    DECISION: ({ enforced, decision }) => (enforced ? decision : `would_${decision}`),
    '': ({ verdict }) => verdicts[verdict],
    'WHAT IT SAW': ({ read, message }) => [read.map(factText).join(', '), message ?? []].flat().join(': '),
  })
  if (turns.length === 0) return
  line(io)
  line(io, 'It would have been')
  for (const { to, rule, ...fact } of turns)
    line(io, plain(`  ${to} if ${factText(fact)} (${rule ?? 'no rule would allow it'})`))
}

function because({ rule, reason, policy, applies }: Ruling): string {
  if (!applies) return 'no policy that is enforced is about this capability'
  const by = policy === null ? '' : ` (${policy.name} ${policy.version})`
  if (reason === 'no_matching_allow') return `no rule allows it${by}`
  return `${reason === 'policy_error' ? 'cannot be evaluated: ' : 'by '}${rule}${by}`
}

function terms({ roles = [], approvers = [], quorum = 1, expires_in_s }: ApprovalTerms): string {
  const by = [...roles, ...approvers].join(', ')
  const within = expires_in_s === undefined ? '' : ` within ${expires_in_s} s`
  return `needs ${counted(quorum, 'approval')}${by === '' ? '' : ` by ${by}`}${within}`
}

const factText = ({ path, value }: { readonly path: string; readonly value?: Json }): string =>
  value === undefined ? `${path} is absent` : `${path} = ${shortened(JSON.stringify(value), 60)}`

export function printShadow(io: Io, calls: readonly ShadowedCall[]): void {
  const of = (is: ShadowedCall['answer']['is']): number => calls.filter(({ answer }) => answer.is === is).length
  const sums = `${of('equal')} equal, ${of('differs')} would change, ${of('needs')} cannot be told`
  line(io, `${counted(calls.length, 'decision')}: ${sums}`)
  const changed = calls.flatMap(({ answer, ...call }) => (answer.is === 'equal' ? [] : [{ ...call, answer }]))
  if (changed.length === 0) return
  line(io)
  printColumns(io, changed, 'none', {
    TIME: ({ timestamp }) => timestamp,
    CAPABILITY: ({ capability_id }) => capability_id,
    DECIDED: ({ answer }) => answer.from,
    'WOULD BE': ({ answer }) => (answer.is === 'needs' ? '?' : answer.to),
    BY: ({ answer }) =>
      answer.is === 'needs' ? `needs ${answer.fields.join(', ')}` : (answer.rule ?? 'no rule allows it'),
    EVENT: ({ event_id }) => event_id,
  })
}
