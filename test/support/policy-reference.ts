// The rule language a second time: slow, plain, and sharing nothing with the compiler but its types.

import type { Json } from '../../src/base/canonical.ts'
import type { PolicyDecision } from '../../src/model/evidence.ts'
import type { Policy } from '../../src/model/policy.ts'

type Answer = { is: 'data'; data: Json } | { is: 'absent' } | { is: 'open' } | { is: 'fault' }

const absent: Answer = { is: 'absent' }
const open: Answer = { is: 'open' }
const fault: Answer = { is: 'fault' }
const data = (value: Json): Answer => ({ is: 'data', data: value })

/** `true`, `false`, `undecided` or `error`. */
export function referenceVerdict(when: Json, facts: Json): string {
  const answer = evaluate(when, facts)
  if (answer.is === 'fault') return 'error'
  if (answer.is !== 'data') return 'undecided'
  return typeof answer.data === 'boolean' ? String(answer.data) : 'error'
}

interface ReferenceRuling {
  readonly decision: PolicyDecision
  readonly error: boolean
  /** `policy/rule`, sorted. */
  readonly matched: readonly string[]
}

/** What enforced policies decide, by asking every rule of every policy. */
export function referenceRuling(policies: readonly Policy[], capability: string, facts: Json): ReferenceRuling {
  const asked = policies
    .filter(({ applies_to }) => applies_to.some((scope) => isNamed(scope, capability)))
    .flatMap(({ name, rules }) => rules.map((rule) => ({ name: `${name}/${rule.id}`, ...rule })))
    .map((rule) => ({ ...rule, verdict: referenceVerdict(rule.when, facts) }))
  const counting = asked.filter(
    ({ verdict, decision }) =>
      verdict === 'true' || verdict === 'error' || (verdict === 'undecided' && decision !== 'allow'),
  )
  const error = counting.some(({ verdict }) => verdict === 'error')
  const has = (wanted: PolicyDecision): boolean => counting.some(({ decision }) => decision === wanted)
  const decision = error || has('deny') ? 'deny' : (milder.find(has) ?? 'deny')
  return { decision, error, matched: counting.map(({ name }) => name).sort() }
}

const milder: readonly PolicyDecision[] = [
  'sandbox_only',
  'requires_escalation',
  'requires_more_evidence',
  'requires_approval',
  'allow',
]

const isNamed = (scope: string, id: string): boolean =>
  new RegExp(`^${scope.replaceAll('.', '\\.').replace('*', '.*')}$`).test(id)

function evaluate(json: Json, scope: Json): Answer {
  if (typeof json !== 'object' || json === null) return data(json)
  const [[name = '', given] = []] = Object.entries(json)
  const operands = (Array.isArray(given) ? given : [given]) as Json[]
  const value = (index: number): Answer => evaluate(operands[index] as Json, scope)
  switch (name) {
    case 'var': {
      const found = look(scope, operands[0] as string)
      return found.is === 'absent' && operands.length > 1 ? data(operands[1] as Json) : found
    }
    case 'missing':
      return data(missing(operands as string[], scope))
    case 'missing_some': {
      const [least, paths] = operands as [number, string[]]
      const gone = missing(paths, scope)
      return data(paths.length - gone.length >= least ? [] : gone)
    }
    case '!':
    case '!!': {
      const only = value(0)
      if (only.is === 'fault' || only.is === 'open') return only
      return data(truth(only) === (name === '!!'))
    }
    case 'and':
      return joined(operands, scope, false)
    case 'or':
      return joined(operands, scope, true)
    case 'if':
      return chosen(operands, scope)
    case 'in':
      return Array.isArray(operands[1]) ? found(value(0), data(operands[1])) : found(value(0), value(1))
    case 'some':
    case 'all':
    case 'none':
      return quantified(name, value(0), operands[1] as Json)
    default:
      return strict(
        name,
        operands.map((_, index) => value(index)),
      )
  }
}

function look(scope: Json, path: string): Answer {
  let here: Json | undefined = scope
  for (const name of path === '' ? [] : path.split('.')) {
    if (here === null || typeof here !== 'object') return absent
    const own = Object.entries(here) as [string, Json][]
    here = own.find(([key]) => key === name)?.[1]
  }
  return here === undefined || here === null ? absent : data(here)
}

const missing = (paths: string[], scope: Json): string[] => paths.filter((path) => look(scope, path).is === 'absent')

const truth = (answer: Answer): boolean =>
  answer.is === 'data' && !(answer.data === false || answer.data === 0 || answer.data === '' || isEmpty(answer.data))

const isEmpty = (value: Json): boolean => Array.isArray(value) && value.length === 0

/** Left to right: what decides ends it, so does a fault; what is open leaves it open. */
function joined(operands: readonly Json[], scope: Json, decisive: boolean): Answer {
  const seen: Answer[] = []
  for (const operand of operands) {
    const answer = asBoolean(evaluate(operand, scope))
    if (answer.is === 'fault') return fault
    if (answer.is === 'data' && answer.data === decisive) return answer
    seen.push(answer)
  }
  return seen.every(({ is }) => is === 'data') ? data(!decisive) : open
}

function asBoolean(answer: Answer): Answer {
  if (answer.is === 'data') return typeof answer.data === 'boolean' ? answer : fault
  return answer.is === 'absent' ? open : answer
}

function chosen([condition, yes, ...rest]: readonly Json[], scope: Json): Answer {
  if (yes === undefined) return evaluate(condition as Json, scope)
  const holds = asBoolean(evaluate(condition as Json, scope))
  if (holds.is === 'fault') return fault
  if (holds.is === 'data') return holds.data === true ? evaluate(yes, scope) : chosen(rest, scope)
  const both = [evaluate(yes, scope), chosen(rest, scope)] as const
  if (both.some(({ is }) => is === 'fault')) return fault
  const isList = both[0].is === 'data' && typeof both[0].data === 'object'
  return !isList && JSON.stringify(both[0]) === JSON.stringify(both[1]) ? both[0] : open
}

function found(needle: Answer, haystack: Answer): Answer {
  if (needle.is === 'fault' || haystack.is === 'fault') return fault
  if (needle.is === 'data' && typeof needle.data === 'object') return fault
  if (haystack.is === 'data' && typeof haystack.data !== 'string' && !Array.isArray(haystack.data)) return fault
  if (needle.is !== 'data' || haystack.is !== 'data') return open
  if (Array.isArray(haystack.data)) return data(haystack.data.some((entry) => entry === needle.data))
  return typeof needle.data === 'string' ? data((haystack.data as string).includes(needle.data)) : fault
}

function quantified(name: string, list: Answer, test: Json): Answer {
  if (list.is !== 'data') return list.is === 'fault' ? fault : open
  if (!Array.isArray(list.data)) return fault
  if (list.data.length === 0) return data(name === 'none')
  const decisive = name !== 'all'
  for (const [index, item] of list.data.entries()) {
    const answer = asBoolean(evaluate(test, item))
    if (answer.is === 'fault') return fault
    if (answer.is === 'data' && answer.data === decisive) return data(name === 'some')
    // What stays open may still be decided by a later item.
    if (answer.is === 'open') {
      const rest = quantified(name, data(list.data.slice(index + 1)), test)
      const settled = rest.is === 'data' && rest.data === (name === 'some') && index + 1 < list.data.length
      return rest.is === 'fault' || settled ? rest : open
    }
  }
  return data(name !== 'some')
}

/** Operators that need all their operands: a fault first, then a wrong kind, then what is absent. */
function strict(name: string, answers: readonly Answer[]): Answer {
  if (answers.some(({ is }) => is === 'fault')) return fault
  const present = answers.flatMap((answer) => (answer.is === 'data' ? [answer.data] : []))
  if (/^[!=]==?$/.test(name)) {
    if (present.some((value) => typeof value === 'object')) return fault
    if (present.length < answers.length) return open
    return data((present[0] === present[1]) === name.startsWith('='))
  }
  if (/^[<>]/.test(name)) return ordered(name, answers)
  if (present.some((value) => typeof value !== 'number')) return fault
  if (present.length < answers.length) return open
  const result = calculated(name, present as number[])
  return Number.isFinite(result) ? data(result) : fault
}

function ordered(name: string, [first, second, third]: readonly Answer[]): Answer {
  if (third === undefined) return compared(name, first as Answer, second as Answer)
  const both = [compared(name, first as Answer, second as Answer), compared(name, second as Answer, third)]
  if (both.some(({ is }) => is === 'fault')) return fault
  if (both.some((answer) => answer.is === 'data' && answer.data === false)) return data(false)
  return both.every(({ is }) => is === 'data') ? data(true) : open
}

function compared(name: string, a: Answer, b: Answer): Answer {
  const present = [a, b].flatMap((answer) => (answer.is === 'data' ? [answer.data] : []))
  if (present.some((value) => typeof value !== 'number' && typeof value !== 'string')) return fault
  if (present.length < 2) return open
  const [left, right] = present as [number, number]
  if (typeof left !== typeof right) return fault
  const order = left < right ? -1 : left > right ? 1 : 0
  return data((name.startsWith('<') ? order < 0 : order > 0) || (name.endsWith('=') && order === 0))
}

function calculated(name: string, numbers: readonly number[]): number {
  const [a = 0, b = 0] = numbers
  if (name === '+') return numbers.reduce((sum, next) => sum + next, 0)
  if (name === '*') return numbers.reduce((product, next) => product * next, 1)
  if (name === '-') return numbers.length === 1 ? -a : a - b
  if (name === '/') return a / b
  if (name === '%') return a % b
  return [...numbers].sort((x, y) => x - y)[name === 'min' ? 0 : numbers.length - 1] ?? Number.NaN
}
