import assert from 'node:assert/strict'
import { test } from 'vitest'
import { problemsOf } from '../parse.ts'
import { toolCallEnvelope, toolResultEnvelope } from './plan.ts'

const error = { code: 'adapter_error', message: 'no', retryable: false }
const waiting = { waits_for: 'apr_1', lapses_at: '2026-11-02T09:15:00.000Z' }
const base = {
  ...{ envelope_version: 'contextos.tool_result.v1', tool_call_id: 'tool_1', run_id: 'run_01a1f46e00000001' },
  ...{ trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', capability_id: 'adp_stock.lookup', output: null, error: null },
  ...{ artifacts: [], citations: [], mutations: [], risk_tags: [], policy_decision_id: null, latency_ms: 3 },
  metadata: { tool_transcript_id: 'tool_tx_1', redaction_applied: false, retries: 0, cost_cents: 0 },
}
const fits = (more: object): boolean => problemsOf(toolResultEnvelope, { ...base, ...more }).length === 0

test('a tool result that contradicts its status is no result [R-60]', () => {
  const paused = { status: 'paused', error, metadata: { ...base.metadata, ambit: waiting } }
  const good = [
    { status: 'ok', output: { a: 1 } },
    { status: 'completed', mutations: ['write_off'] },
    paused,
    ...['blocked', 'rejected', 'failed', 'error'].map((status) => ({ status, error })),
    { status: 'error', error, output: { a: 1 }, mutations: ['x'] },
  ]
  for (const each of good) assert(fits(each), JSON.stringify(each))
  const contradictions = [
    { status: 'ok', mutations: ['x'] },
    { status: 'ok', error },
    { status: 'completed' },
    { status: 'completed', mutations: ['x'], error },
    { ...paused, metadata: base.metadata },
    { ...paused, mutations: ['x'] },
    ...['blocked', 'rejected', 'failed', 'error'].map((status) => ({ status })),
    ...['blocked', 'rejected', 'failed'].map((status) => ({ status, error, mutations: ['x'] })),
    ...['blocked', 'rejected'].map((status) => ({ status, error, output: {} })),
    { status: 'done' },
    { status: 'ok', surprise: 1 },
  ]
  for (const each of contradictions) assert(!fits(each), JSON.stringify(each))
})

test('a tool call names its modes, its chain and a key of its form [R-60]', () => {
  const call = {
    ...{
      envelope_version: 'contextos.tool_call.v1',
      tool_call_id: 'tool_1',
      run_id: base.run_id,
      trace_id: base.trace_id,
    },
    ...{
      capability_id: 'adp_stock.lookup',
      args: {},
      principal_chain: [{ kind: 'user', id: 'usr_1' }],
      evidence_refs: [],
    },
    ...{ approval_mode_requested: 'network', approval_mode_effective: 'network', approval_mode_highest: 'network' },
    ...{ idempotency_key: 'ik_0123456789abcdef', auth_ref: `claim_hash:sha256:${'0'.repeat(64)}` },
  }
  assert.deepEqual(problemsOf(toolCallEnvelope, call), [])
  for (const wrong of [{ idempotency_key: 'ik_ABC' }, { principal_chain: [] }, { auth_ref: 'token' }, { grants: [] }])
    assert.notDeepEqual(problemsOf(toolCallEnvelope, { ...call, ...wrong }), [])
})
