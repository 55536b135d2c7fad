import assert from 'node:assert/strict'
import { test } from 'vitest'
import { drive, loopFacts, runCases } from '../support/governed.ts'

const verdictsIn = (verdicts: readonly { readonly verdict: string; readonly kind?: string }[]): string[] =>
  verdicts.map(({ verdict, kind }) => (kind === undefined ? verdict : `${verdict} ${kind}`))

test.each(runCases().map((each) => [each.id, each.says, each] as const))('%s: %s [R-04 R-05]', (_, __, given) => {
  const facts = loopFacts(given)
  const { ending, progress, effects } = drive(given, { facts })
  const { expect } = given
  const reached = Object.fromEntries(
    Map.groupBy(effects, (each) => each.capability_id)
      .entries()
      .map(([id, all]) => [id, all.length]),
  )
  assert.deepEqual(reached, expect.calls)
  if (ending === 'paused') assert.deepEqual([expect.record, expect.run], ['IN_FLIGHT', 'paused'])
  else {
    const { record_status, run_status, outcome, cause, limit, used } = ending
    assert.deepEqual(
      { record: record_status, run: run_status, outcome, cause, limit, used },
      {
        record: expect.record,
        run: expect.run,
        outcome: expect.outcome,
        cause: expect.cause,
        limit: expect.limit,
        used: expect.used,
      },
    )
  }
  const calls = progress.plans.flatMap((plan) => plan.calls)
  const last = calls.at(-1)
  if (expect.last !== undefined) {
    const { status, code, mutations = [] } = expect.last
    assert.deepEqual(
      { status: last?.answer?.status, code: last?.answer?.error?.code, mutations: last?.answer?.mutations },
      { status, code, mutations },
    )
  }
  if (expect.modes !== undefined && ending !== 'paused') {
    assert.deepEqual({ requested: last?.requested, effective: last?.effective, highest: last?.highest }, expect.modes)
  }
  if (expect.approvals !== undefined)
    assert.equal(calls.filter(({ answer }) => answer?.approver).length, expect.approvals)
  if (expect.plans !== undefined) assert.equal(progress.plans.length, expect.plans)
  if (expect.calls_used !== undefined) assert.equal(progress.callsUsed, expect.calls_used)
  if (expect.verdicts !== undefined) assert.deepEqual(verdictsIn(progress.verdicts), expect.verdicts)
  for (const [id, reason] of Object.entries(given.hidden ?? {}))
    assert(
      facts.compiled.context_ledger.ambit.hidden.some((each) => each.capability_id === id && each.reason === reason),
    )
  for (const [list, ids] of Object.entries(expect.controls ?? {}))
    assert.deepEqual(facts.compiled.runtime_controls[list as 'must_refuse'], ids)
})
