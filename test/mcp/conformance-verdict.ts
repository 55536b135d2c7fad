// What came of the scenarios of the public conformance suite of MCP, held against the list of exceptions.

import { type Exception, exceptions, type Side } from './conformance-exceptions.ts'

export interface Scenario {
  readonly side: Side
  readonly name: string
  readonly revisions: readonly string[]
}

export interface Check {
  readonly id: string
  readonly status: string
}

export interface Row {
  readonly release: string
  readonly side: Side
  readonly scenario: string
  readonly revision: string
  /** `not run` and `exception` are in order; `FAIL` and `STALE` are not. */
  readonly result: 'pass' | 'exception' | 'not run' | 'FAIL' | 'STALE'
  readonly reason: string
}

/** Undefined checks: the scenario brought no result. */
export function judged(
  at: Pick<Row, 'release' | 'side' | 'scenario' | 'revision'>,
  checks: readonly Check[] | undefined,
  list: readonly Exception[] = exceptions,
): Row {
  const listed = list.find((one) => covers(one, at.side, at.scenario) && isAt(one, at.revision))
  const bad = [...new Set((checks ?? []).filter(({ status }) => isBad(status)).map(({ id }) => id))]
  const passes = bad.length === 0 && (checks ?? []).some(({ status }) => status === 'SUCCESS')
  if (!listed)
    return { ...at, result: passes ? 'pass' : 'FAIL', reason: passes ? '' : `${bad.join(', ') || 'no result'}` }
  const { checks: meant = bad, reason } = listed
  const beyond = bad.filter((id) => !meant.includes(id))
  if (checks === undefined || beyond.length > 0)
    return { ...at, result: 'FAIL', reason: beyond.join(', ') || 'no result' }
  const stale = passes ? [at.scenario] : meant.filter((id) => !bad.includes(id))
  if (stale.length > 0) return { ...at, result: 'STALE', reason: `passes, though it is listed: ${stale.join(', ')}` }
  return { ...at, result: 'exception', reason: listed.checks ? `${listed.checks.join(', ')}: ${reason}` : reason }
}

/** The suite itself counts a warning as a failure of clients; so do we, of both sides. */
const isBad = (status: string): boolean => status === 'FAILURE' || status === 'WARNING'

const isAt = ({ revision }: Exception, at: string): boolean => revision === undefined || revision === at

const isArea = ({ scenario }: Exception): boolean => scenario.endsWith('*')

const covers = (exception: Exception, side: Side, name: string): boolean =>
  exception.side === side &&
  (isArea(exception) ? name.startsWith(exception.scenario.slice(0, -1)) : exception.scenario === name)

/** Exceptions that name nothing of what there is in any release. */
export const unknownIn = (all: readonly Scenario[], list: readonly Exception[] = exceptions): readonly Exception[] =>
  list.filter((one) => !all.some(({ side, name }) => covers(one, side, name)))

/** The areas of a release that are not run, one row each. */
export const areaRows = (release: string, scenarios: readonly Scenario[]): readonly Row[] =>
  exceptions.filter(isArea).flatMap((one): Row[] => {
    const found = scenarios.filter(({ side, name }) => covers(one, side, name))
    if (found.length === 0) return []
    const scenario = `${one.scenario} (${found.length})`
    return [{ release, side: one.side, scenario, revision: 'all', result: 'not run', reason: one.reason }]
  })

export const isInArea = ({ side, name }: Scenario): boolean =>
  exceptions.some((one) => isArea(one) && covers(one, side, name))
