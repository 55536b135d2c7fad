import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { dataFolder } from '../../test/support/data.ts'
import type { Json } from '../base/canonical.ts'
import { objectHash } from '../base/hash.ts'
import { readJson } from '../base/json.ts'
import { encodeKeyFile } from '../keys/key-file.ts'
import { approvalGrant } from './approval.ts'
import { capabilityDescriptor } from './capability.ts'
import { config } from './config/config.ts'
import { grantPath } from './grant.ts'
import { signingKey } from './identity/key.ts'
import { parseAs, problemsOf } from './parse.ts'
import { policy } from './policy.ts'
import { denial } from './wire/denial.ts'
import { invocationEnvelope, receivedEnvelope } from './wire/invocation.ts'
import { mandate, mandateRevocation } from './wire/mandate.ts'

test('the envelope of the source document is accepted as it stands, complete or as received [H-12 F-06]', () => {
  const envelope = readJson(`{"invocation_id": "inv_session_abc_001", "capability_id": "schedule_technician",
    "version": "1.0.0", "mode": "sync", "correlation": {"correlation_id": "session-abc"},
    "subject": {"id": "agent://planning-assistant", "roles": ["dispatcher"]},
    "payload": {"job_id": "job_456", "window": "tomorrow"}, "requested_at": "2026-06-16T15:14:20.000Z"}`)
  assert.deepEqual(parseAs(receivedEnvelope, envelope, 'the envelope'), envelope)
  assert.deepEqual(parseAs(invocationEnvelope, envelope, 'the envelope'), envelope)
})

test('over HTTP all but the capability may be absent, and what a gate answers is let through to it [F-06]', () => {
  const arriving = [
    { capability_id: 'x' },
    { capability_id: ' ', correlation: {}, correlation_id: 'c' },
    { capability_id: 'x', mode: 'telepathy', version: 'newest', requested_at: 'yesterday' },
    { capability_id: 'x', version: null, subject: { verified: true, type: 'mandate', roles: 7 } },
    { capability_id: 'x', mandate: { kind: 'forged' }, approval_ref: [{}], require_output_schema: true },
  ]
  for (const envelope of arriving) {
    assert.deepEqual(problemsOf(receivedEnvelope, envelope), [])
    assert.notDeepEqual(problemsOf(invocationEnvelope, envelope), [])
  }
})

test('what no gate could answer is refused at the door by name [F-06]', () => {
  const refused: [Json, string][] = [
    [{}, '/capability_id'],
    [{ capability_id: '' }, '/capability_id'],
    [{ capability_id: 'x', invocation_id: 'a\nb' }, '/invocation_id'],
    [{ capability_id: 'x', invocation_id: '😀'.repeat(257) }, '/invocation_id'],
    [{ capability_id: 'x', payload: [] }, '/payload'],
    [{ capability_id: 'x', contxt: {} }, '/contxt'],
    [{ capability_id: 'x', correlation: { session: 's' } }, '/correlation/session'],
    [{ capability_id: 'x', actor: { id: 'a', verified: true } }, '/actor/verified'],
  ]
  for (const [envelope, pointer] of refused) assert.equal(problemsOf(receivedEnvelope, envelope)[0]?.pointer, pointer)
})

test('the worked example parses, and its digests stay those of the reference [F-06]', () => {
  const released = parseAs(capabilityDescriptor, depotDescriptor, 'the descriptor')
  assert.equal(hashOf(released), 'sha256:36bb1e331bc1eed31e8768d5720a3ca900cafbae848f0cfc460df0b2ea4612bd')
  const rules = parseAs(policy, depotPolicy, 'the policy')
  assert.equal(hashOf(rules), 'sha256:dd40e84c656ec6639cc007c05405ffa0b04381fd0909d6831320acd65e9c1783')
  assert.deepEqual(parseAs(invocationEnvelope, depotEnvelope, 'the envelope'), depotEnvelope)
  assert.deepEqual(parseAs(receivedEnvelope, depotEnvelope, 'the envelope'), depotEnvelope)
  const refusal = parseAs(denial, depotDenial, 'the denial')
  assert.equal(hashOf(refusal), 'sha256:53a433d5a88b32e57d619f0474cd5e1b84ebfbbabd2cc484550431a33ff8ddb2')
})

test('a grant path is refused for all that a pattern can see [F-06]', () => {
  const good = [
    'acme',
    'acme/eu/desk-7',
    'Größe/日本',
    '..a/b..',
    `${'s'.repeat(128)}/x`,
    Array(32).fill('s').join('/'),
  ]
  for (const path of good) assert.deepEqual(problemsOf(grantPath, path), [], path)
  const dots = ['.', '..', 'a/..', '../a', 'a/.../b']
  const marks = [
    'a*',
    'a?',
    'a[',
    'a]',
    'a{',
    'a}',
    'a\\b',
    'a%2f',
    'a b',
    'a\u00a0',
    'a\u0000',
    'a\u200b',
    'a\u2028',
    '\ufeffa',
    'a\u3164',
    '\ud800',
  ]
  const forms = [
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    's'.repeat(129),
    Array(33).fill('s').join('/'),
    Array(6).fill('s'.repeat(100)).join('/'),
  ]
  for (const path of [...dots, ...marks, ...forms]) {
    assert.equal(problemsOf(grantPath, path).length, 1, JSON.stringify(path))
  }
})

test('a configuration may be empty, and a misspelt setting is refused by name [F-20 F-06]', () => {
  const full = {
    store: { driver: 'sqlite', path: 'a.db', durability: 'full' },
    dataDir: '.ambit',
    keys: { dir: 'keys', passphraseEnv: 'AMBIT_PASSPHRASE' },
    tenant: 'local',
    checkpoint: { everyEvents: 100, everyMs: 1000 },
  }
  for (const value of [{}, full, { store: { driver: 'postgres', urlEnv: 'DATABASE' } }]) {
    assert.deepEqual(parseAs(config, value, 'the configuration'), value)
  }
  assert.equal(problemsOf(config, { datadir: '.' })[0]?.pointer, '/datadir')
  assert.equal(problemsOf(config, { store: { driver: 'postgres', path: 'x' } })[0]?.pointer, '/store/path')
})

test('a key file of a host has the public part we publish the shape of [F-10 F-06]', () => {
  const seed = new Uint8Array(32).fill(1)
  const keys = {
    hostId: 'depot',
    createdAt: '2026-06-16T15:00:00.000Z',
    seed,
    digestKey: seed,
    history: [],
    revoked: [],
  }
  const file = readJson(encodeKeyFile(keys, null, (bytes) => new Uint8Array(bytes)))
  assert.equal(parseAs(signingKey, file, 'the key file').current.key_id, '34750f98bd59fcfc')
})

const vectors = dataFolder('chp-vectors')

test.skipIf(vectors === undefined)('the published grants, mandates and revocations parse unchanged [F-06]', () => {
  const read = (name: string) => readJson(readFileSync(join(vectors ?? '', `${name}.json`)))
  for (const name of ['mandate', 'mandate-capped', 'mandate-chain']) {
    assert.deepEqual(parseAs(mandate, read(name), name), read(name))
  }
  assert.deepEqual(parseAs(mandateRevocation, read('mandate-revocation'), 'it'), read('mandate-revocation'))
  const { cases } = read('approval-grant') as { readonly cases: readonly { readonly grant: Json }[] }
  assert.equal(cases.length, 3)
  for (const { grant } of cases) assert.deepEqual(parseAs(approvalGrant, grant, 'the grant'), grant)
})

// Parsed values are plain JSON; the text form drops the `undefined` their types allow.
const hashOf = (value: unknown): string => objectHash(readJson(JSON.stringify(value)))

const depotDescriptor = readJson(`
  {"id": "depot.release_batch", "version": "2.1.0", "description":
  "Moves a quarantined batch to saleable stock and books its dispatch slot.", "modes": ["sync"], "emits":
  ["approval_requested", "execution_denied", "execution_started", "execution_completed", "execution_failed"],
  "side_effects": ["stock.move"], "risk": "high", "idempotency": "required", "timeout_s": 20, "input_schema": {"type":
  "object", "additionalProperties": false, "required": ["batch_id", "consignee", "excursion_minutes"], "properties":
  {"batch_id": {"type": "string", "pattern": "^B-[0-9]{6}$"}, "consignee": {"type": "string", "x-sensitive": true},
  "excursion_minutes": {"type": "integer", "minimum": 0}}}, "policy": {"risk_tier": "high", "auth_required": true,
  "approval_required": false, "allowed_actors": ["stock-planner"]}, "metadata": {"required_permissions":
  ["stock:release"], "policy": {"name": "quality_release", "statement":
  "Two responsible pharmacists release a batch that was ever too warm.", "may_require": ["approval"]}, "context":
  {"name": "batch_context", "version": "1.0.0", "identifies":
  "the quarantined batch, how long it was warm, and why it is needed", "closed": true, "fields": {"batch_id":
  {"source": "payload:/batch_id", "schema": {"type": "string"}, "evidence": "value"}, "consignee": {"source":
  "payload:/consignee", "schema": {"type": "string"}, "sensitive": true}, "environment": {"source":
  "correlation:/environment", "schema": {"enum": ["test", "prod"]}, "evidence": "value"}, "excursion_minutes":
  {"source": "payload:/excursion_minutes", "schema": {"type": "integer"}, "evidence": "value", "read_by":
  ["quality_release"]}, "purpose": {"source": "metadata:/purpose", "schema": {"enum": ["routine", "shortage"]},
  "evidence": "value", "read_by": ["quality_release"]}}, "example": {"batch_id": "B-000001", "consignee": "Clinic 1",
  "environment": "test", "excursion_minutes": 0, "purpose": "routine"}}}}
`)

const depotPolicy = readJson(`
  {"name": "quality_release", "version": "3", "applies_to": ["depot.release_batch"], "rules": [{"id": "routine",
  "when": {"and": [{">": [{"var": "context.excursion_minutes"}, 0]}, {"==": [{"var": "context.purpose"},
  "routine"]}]}, "decision": "deny"}, {"id": "cold", "when": {"==": [{"var": "context.excursion_minutes"}, 0]},
  "decision": "allow"}, {"id": "excursion", "when": {">": [{"var": "context.excursion_minutes"}, 0]}, "decision":
  "requires_approval", "approval": {"roles": ["responsible_pharmacist"], "quorum": 2, "expires_in_s": 7200}}]}
`)

const depotEnvelope = readJson(`
  {"invocation_id": "inv_7Q2", "capability_id": "depot.release_batch", "version": "2.1.0", "mode": "sync",
  "correlation": {"correlation_id": "run-5521", "environment": "prod"}, "subject": {"id": "agent://stock-planner"},
  "actor": {"id": "agent://stock-planner", "type": "agent"}, "metadata": {"purpose": "shortage"}, "payload":
  {"batch_id": "B-204417", "consignee": "Clinic 88, Tromsø", "excursion_minutes": 14}, "requested_at":
  "2026-06-16T15:00:00.000Z"}
`)

const depotDenial = readJson(`
  {"code": "approval_required", "message": "quality_release must approve before execution", "retryable": true,
  "details": {"policy": "quality_release", "approval_id": "apr_31", "decision": "requires_approval", "matched_rule":
  "quality_release/excursion", "policy_version": "3", "required_next_action":
  "wait for 2 approvals by responsible_pharmacist, then repeat this invocation_id"}}
`)
