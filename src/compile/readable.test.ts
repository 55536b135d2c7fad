import assert from 'node:assert/strict'
import { test } from 'vitest'
import { loaded, stockCatalog, stockPack } from '../../test/support/contract.ts'
import type { Json } from '../base/canonical.ts'
import { unresolvedIn } from './bindings.ts'
import { findSecretsIn } from './lint.ts'
import { mergePacks } from './merge.ts'
import { unreadableIn } from './readable.ts'

/** The sample with one place changed: its pointer, and what stands there instead. */
function changed<T extends object>(document: T, pointer: string, value: unknown): T {
  const names = pointer.split('/').slice(1)
  const last = names.pop() ?? ''
  const parent = names.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document)
  Object.assign(parent as object, { [last]: value })
  return document
}

const rules = '/policy_layer/policy_bundles/0/policy_dsl/rules'
const [rail] = stockPack().policy_layer.guardrails.must_refuse
const redaction = { rule_id: 'R_MAIL', when: true, pattern: '(', replace: '…' }

test.each([
  [`${rules}/0/if`, { looks_like: [1] }, `${rules}/0/if/looks_like`],
  [`${rules}/0/rule_id`, 'R_SIDE', `${rules}/2`],
  [
    `${rules}/0/then`,
    { allow: true, arg_constraints: { name: { pattern: '(' } } },
    `${rules}/0/then/arg_constraints/name/pattern`,
  ],
  [
    '/policy_layer/guardrails/must_refuse/0/when',
    { var: 'secrets.key' },
    '/policy_layer/guardrails/must_refuse/0/when/var',
  ],
  ['/policy_layer/guardrails/must_refuse/1', rail, '/policy_layer/guardrails/must_refuse/1'],
  ['/policy_layer/guardrails/redaction_rules/0', redaction, '/policy_layer/guardrails/redaction_rules/0/pattern'],
  ['/policy_layer/approval_gates/0/when', 5, '/policy_layer/approval_gates/0/when'],
  [
    '/tooling_layer/permissions/4/arg_constraints/currency',
    { pattern: '\\1' },
    '/tooling_layer/permissions/4/arg_constraints/currency/pattern',
  ],
  ['/tooling_layer/adapter_registry/1/adapter_id', 'adp_stock', '/tooling_layer/adapter_registry/1'],
])('a pack with %s of %j is told the place of it [R-70]', (place, value, pointer) => {
  assert.deepEqual(unreadableIn(stockPack()), [])
  const found = unreadableIn(changed(stockPack(), place, value))
  assert.deepEqual(
    found.map((each) => each.pointer),
    [pointer],
  )
})

test('a rule that enforces nothing may be unreadable [R-70]', () => {
  const pack = changed(stockPack(), `${rules}/0/if`, { looks_like: [1] })
  assert.deepEqual(
    unreadableIn(changed(pack, '/policy_layer/policy_bundles/0/non_enforcing', ['R_COUNT_VERIFIED'])),
    [],
  )
})

const steps = '/task_templates/0/steps'

test.each([
  [`${steps}/0/params`, { batch: [{ $expr: { plus: [1] } }] }, `${steps}/0/params/batch/0/$expr/plus`],
  [`${steps}/0/when`, { var: 'steps', more: 1 }, `${steps}/0/when`],
  ['/task_templates/0/decision/outcome', { eval: ['x'] }, '/task_templates/0/decision/outcome/eval'],
  ['/decision_specs/0/eligibility_rules', { '===': [1] }, '/decision_specs/0/eligibility_rules/==='],
])('a catalog with %s of %j is told the place of it [R-70]', (place, value, pointer) => {
  assert.deepEqual(unreadableIn(stockCatalog()), [])
  assert.deepEqual(
    unreadableIn(changed(stockCatalog(), place, value)).map((each) => each.pointer),
    [pointer],
  )
})

test.each([
  [`${steps}/2/requires`, ['GATE_NONE'], `${steps}/2/requires/0`],
  [`${steps}/0/depends_on`, ['s3'], `${steps}/0`],
  ['/task_templates/0/decision/decision_key', 'stock.none', '/task_templates/0/decision/decision_key'],
])('a template with %s of %j leads nowhere, and is told where [R-64 R-69]', (place, value, pointer) => {
  const catalog = changed(stockCatalog(), place, value)
  const found = unresolvedIn(catalog, mergePacks([loaded(stockPack()), loaded(catalog)]))
  assert.deepEqual(
    found.map((each) => each.pointer),
    [pointer],
  )
})

test('a pack holds no code, and may speak of imports and functions [R-66]', () => {
  const unsafe = [
    '(x) => { return steal(x) }',
    'function go() { }',
    'require("fs")',
    "import fs from 'node:fs'",
    '<script>alert(1)</script>',
    'postgres://ada:hunter22@db.example/x',
  ]
  for (const text of unsafe) {
    assert.equal(findSecretsIn({ a: text } as Json)[0]?.code, 'pack.unsafe', text)
    assert.equal(findSecretsIn({ [text]: 1 } as Json)[0]?.code, 'pack.unsafe', text)
  }
  const plain = ['We import fish from Norway.', 'The function (of a gate) is to ask people.', 'x >= 5 => refuse']
  for (const text of plain) assert.deepEqual(findSecretsIn({ a: text } as Json), [], text)
})
