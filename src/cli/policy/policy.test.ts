import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'vitest'
import { givenDepot, release as releaseCall } from '../../../test/cli/depot.ts'
import { givenAmbit } from '../../../test/cli/given.ts'
import { administering, givenKey, givenShell, type Shell } from '../../../test/cli/harness.ts'
import { descriptor, record as exampleRecord, policy as release } from '../../../test/support/evidence-example.ts'
import type { AttemptRecord } from '../../model/evidence.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { type EventInput, record } from '../../runtime/evidence/record.ts'
import { operator } from '../../runtime/identity/caller.ts'

/** A shell with these files in its folder. */
function givenFiles(files: Readonly<Record<string, unknown>>, shell = givenShell()): Shell {
  for (const [name, content] of Object.entries(files)) {
    const path = join(shell.cwd, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  }
  return shell
}

const facts = (minutes: number, purpose: string) => ({ context: { excursion_minutes: minutes, purpose } })
const changed = (when: unknown) => ({ ...release, rules: [{ id: 'cold', when, decision: 'allow' }] })

test('policy check says of each file whether it loads, and if not, where and what to do [F-18 H-35]', async () => {
  const shell = givenFiles({
    'good.json': release,
    'operator.json': changed({ nope: [1] }),
    'shape.json': { ...release, name: 'other', rules: [{ id: 'a', when: true, decision: 'perhaps' }] },
    'text.json': '{"name": "a", "name": "b"}',
    'twin.json': release,
  })
  const good = await shell.good('policy', 'check', 'good.json')
  assert.equal(
    good.out,
    'ok   good.json  quality_release 3, 3 rules, sha256:dd40e84c656ec6639cc007c05405ffa0b04381fd0909d6831320acd65e9c1783\n',
  )
  const bad = await shell.run('policy', 'check', 'good.json', 'operator.json', 'shape.json', 'text.json', 'twin.json')
  assert.deepEqual([bad.code, bad.err], [1, ''])
  assert.match(
    bad.out,
    /^bad {2}operator\.json {2}\/rules\/0\/when\/nope: `nope` is no operator \(policy_invalid\)\n +there are var missing /m,
  )
  assert.match(bad.out, /^bad {2}shape\.json +\/rules\/0\/decision: must be one of `allow`, .* \(field_invalid\)$/m)
  assert.match(bad.out, /^bad {2}text\.json .*occurs twice at line 1, column 15 \(json_invalid\)$/m)
  assert.match(bad.out, /^bad {2}twin\.json +\/name: there are two policies `quality_release`/m)
  const { files } = (await shell.run('policy', 'check', 'operator.json', '--json')).json<{
    files: { problems: object[] }[]
  }>()
  assert.deepEqual(Object.keys(files[0]?.problems[0] ?? {}), ['code', 'message', 'pointer', 'help'])
})

test('policy check holds rules to the fields that capabilities declare [F-18 H-09]', async () => {
  const shell = givenFiles({
    'release.json': release,
    'depot.json': descriptor,
    'elsewhere.json': { ...release, name: 'elsewhere', applies_to: ['desk.*'] },
    'odd.json': {
      ...release,
      rules: [...release.rules, { id: 'odd', when: { '!': { var: 'context.odd' } }, decision: 'deny' }],
    },
  })
  await shell.good('policy', 'check', 'release.json', '--descriptor', 'depot.json')
  await shell.good('policy', 'check', 'odd.json')
  const unread = await shell.run('policy', 'check', 'elsewhere.json', '--descriptor', 'depot.json')
  assert.equal(unread.code, 1)
  assert.match(
    unread.out,
    /^ok {3}elsewhere\.json .*\nbad {2}depot\.json +\/fields\/.*`quality_release` is said to read/,
  )
  await shell.good('policy', 'check', 'elsewhere.json', 'release.json', '--descriptor', 'depot.json')
  const { code, out } = await shell.run('policy', 'check', 'odd.json', '--descriptor', 'depot.json')
  assert.equal(code, 1)
  assert.match(
    out,
    /\/rules\/3\/when: rule `odd` reads `context\.` field `odd`, which `depot\.release_batch` does not declare/,
  )
})

test('policy test holds policies to the decisions of a file, and exits with 1 when one is not met [F-18 H-17]', async () => {
  const cases = [
    {
      name: 'cold',
      capability: descriptor.id,
      facts: facts(0, 'routine'),
      expect: { decision: 'allow', rule: 'quality_release/cold' },
    },
    {
      name: 'warm',
      capability: descriptor.id,
      facts: facts(14, 'shortage'),
      expect: { decision: 'requires_approval' },
    },
    { name: 'unknown', capability: descriptor.id, facts: {}, expect: { decision: 'deny' } },
    { name: 'elsewhere', capability: 'depot.other', facts: {}, expect: { decision: 'deny', rule: null } },
    {
      name: 'run',
      capability: 'desk.restock',
      facts: { run: { purpose: 'restock' }, user: { region: 'eu' }, agent: { id: 'desk' } },
      expect: { decision: 'allow', rule: 'of_runs/restock' },
    },
  ]
  const when = {
    and: [
      { '==': [{ var: 'run.purpose' }, 'restock'] },
      { '==': [{ var: 'user.region' }, 'eu'] },
      { '==': [{ var: 'agent.id' }, 'desk'] },
    ],
  }
  const rules = [{ id: 'restock', when, decision: 'allow' }]
  const ofRuns = { name: 'of_runs', version: '1', applies_to: ['desk.*'], rules }
  const shell = givenFiles({
    'rules/release.json': release,
    'tests/good.json': { policies: ['../rules/release.json', ofRuns], cases },
    'tests/inline.json': {
      policies: [release],
      cases: [{ ...cases[0], expect: { decision: 'deny', rule: null } }, cases[1]],
    },
    'tests/broken.json': { policies: ['../rules/gone.json'], cases },
  })
  const { out } = await shell.good('policy', 'test', 'tests/good.json')
  assert.match(
    out,
    /^ +CASE +EXPECTED +DECIDED\nok +cold +allow by quality_release\/cold +allow by quality_release\/cold\n/,
  )
  assert.match(out, /^ok +elsewhere +deny by none +deny by no_matching_allow$/m)
  assert.match(out, /\n5 cases, all as expected\n$/)
  const failed = await shell.run('policy', 'test', 'tests/inline.json')
  assert.deepEqual([failed.code, failed.err], [1, ''])
  assert.match(failed.out, /^FAILED +cold +deny by none +allow by quality_release\/cold$/m)
  assert.match(failed.out, /\n1 of 2 cases failed\n$/)
  const told = (await shell.run('policy', 'test', 'tests/inline.json', '--json')).json<{
    cases: { passed: boolean }[]
  }>()
  assert.deepEqual(
    told.cases.map(({ passed }) => passed),
    [false, true],
  )
  const gone = await shell.run('policy', 'test', 'tests/broken.json')
  assert.deepEqual([gone.code, gone.out], [2, ''])
  assert.match(gone.err, /`rules\/gone\.json` cannot be read: ENOENT \(file_not_found\)/)
})

test('policy explain says why, and what would have changed the answer [F-18 H-17]', async () => {
  const shell = givenFiles({ 'release.json': release, 'facts.json': facts(14, 'shortage') })
  const words = ['policy', 'explain', 'release.json', '--capability', descriptor.id, '--facts']
  const { out } = await shell.good(...words, '@facts.json')
  assert.equal(
    out,
    `requires_approval  by quality_release/excursion (quality_release 3)
needs 2 approvals by responsible_pharmacist within 7200 s

RULE                       DECISION                          WHAT IT SAW
quality_release/routine    deny               does not hold  context.excursion_minutes = 14, context.purpose = "shortage"
quality_release/excursion  requires_approval  holds          context.excursion_minutes = 14
quality_release/cold       allow              does not hold  context.excursion_minutes = 14

It would have been
  allow if context.excursion_minutes = 0 (quality_release/cold)
  deny if context.excursion_minutes = -1 (no rule would allow it)
  deny if context.purpose = "routine" (quality_release/routine)
`,
  )
  const told = (await shell.good(...words, JSON.stringify(facts(0, 'routine')), '--json')).json<{
    ruling: { rule: string }
  }>()
  assert.equal(told.ruling.rule, 'quality_release/cold')
})

test('policy explain has words for absent facts, errors, silence and policies on trial [F-18 H-35 H-36]', async () => {
  const trial = { ...release, name: 'trial', mode: 'audit_only' }
  const shell = givenFiles({ 'release.json': release, 'trial.json': trial })
  const said = async (given: unknown, capability = descriptor.id as string, ...files: readonly string[]) =>
    (
      await shell.good(
        'policy',
        'explain',
        'release.json',
        ...files,
        '--capability',
        capability,
        '--facts',
        JSON.stringify(given),
      )
    ).out
  assert.match(await said({}), /^deny {2}by quality_release\/routine .*\n\n/)
  assert.match(
    await said({}),
    /quality_release\/excursion +requires_approval +undecided +context\.excursion_minutes is absent\n/,
  )
  assert.match(await said(facts('x' as never, 'y')), /^deny {2}cannot be evaluated: quality_release\/routine \(/)
  assert.match(await said(facts('x' as never, 'y')), /= "x": `>` compares two numbers or two texts\n/)
  assert.match(await said(facts(-1, 'y')), /^deny {2}no rule allows it \(quality_release 3\)\n/)
  assert.match(await said(facts(1, 'y'.repeat(99))), /context\.purpose = "y{58}…\n/)
  assert.equal(
    await said({}, 'depot.other'),
    'deny  no policy that is enforced is about this capability\n\nno policy is about this capability\n',
  )
  assert.match(await said(facts(0, 'y'), undefined, 'trial.json'), /trial\/cold +would_allow +holds/)
})

test('policy explain knows the capability that it is told, and refuses facts that no rule reads [F-18 H-17]', async () => {
  const { shell } = await givenDepot()
  const when = {
    and: [{ '==': [{ var: 'capability.id' }, descriptor.id] }, { '==': [{ var: 'capability.risk' }, 'high'] }],
  }
  givenFiles({ 'risky.json': changed(when) }, shell)
  const words = ['policy', 'explain', 'risky.json', '--capability', descriptor.id, '--facts']
  const saw = (risk: string) => new RegExp(`capability\\.id = "depot\\.release_batch", capability\\.risk ${risk}`)
  assert.match((await shell.good(...words, '{}')).out, saw('= "high"'))
  assert.match((await shell.good(...words, '{"capability":{"risk":"low"}}')).out, saw('= "low"'))
  const bare = givenFiles({ 'risky.json': changed(when) })
  assert.match((await bare.good(...words, '{}')).out, saw('is absent'))
  const { code, err } = await bare.run(...words, '{"histroy":{}}')
  assert.equal(code, 2)
  assert.match(
    err,
    /^error: --facts: `histroy` is no fact that a rule reads \(field_invalid\)\n {2}rules read subject, actor, /,
  )
})

test('policy explain asks which of several versions is meant, and tells of upstreams that cannot be read [F-18 H-17]', async () => {
  const capability = (version: string, risk: string) => ({
    request: { method: 'GET', path: `/${version}` },
    descriptor: { id: 'api.look', version, description: 'Looks.', policy: {}, risk },
  })
  const capabilities = [capability('1.0.0', 'high'), capability('2.0.0', 'low')]
  const risky = { id: 'risky', when: { '==': [{ var: 'capability.risk' }, 'high'] }, decision: 'allow' }
  const shell = givenFiles({
    'api.json': { adapter: 'http', name: 'api', server: { url: 'https://api.example' }, capabilities },
    'broken.json': { adapter: 'http' },
    'ambit.config.json': { upstreams: ['api.json', 'broken.json'] },
    'risky.json': { name: 'risky', version: '1', applies_to: ['api.*'], rules: [risky] },
  })
  const explained = (given: object) =>
    shell.run('policy', 'explain', 'risky.json', '--capability', 'api.look', '--facts', JSON.stringify(given))
  for (const given of [{}, { capability: { version: '3.0.0' } }]) {
    const { code, err } = await explained(given)
    assert.equal(code, 2)
    assert.match(
      err,
      /^left out: `broken\.json`: .*\nerror: `api\.look` is offered in the versions `1\.0\.0`, `2\.0\.0` \(/,
    )
  }
  assert.match((await explained({ capability: { version: '1.0.0' } })).out, /^allow /)
  assert.match((await explained({ capability: { version: '2.0.0' } })).out, /^deny /)
})

test('a list of the history that grew too long denies in `policy explain` and `policy test` as it does in a host [F-18 H-98 H-35]', async () => {
  const outside = { in: ['web', { var: 'history.origins' }] }
  const inside = {
    ...{ name: 'inside', version: '1', applies_to: ['*'] },
    rules: [
      { id: 'any', when: true, decision: 'allow' },
      { id: 'outside', when: outside, decision: 'deny' },
    ],
  }
  const said = async (history: object) => {
    const one = { name: 'x', capability: 'ward.fax', facts: { history }, expect: { decision: 'allow' } }
    const shell = givenFiles({ 'inside.json': inside, 'inside.test.json': { policies: ['inside.json'], cases: [one] } })
    const facts = ['--capability', 'ward.fax', '--facts', JSON.stringify({ history })]
    const { cases } = (await shell.run('policy', 'test', 'inside.test.json', '--json')).json<{
      cases: { got: { decision: string; reason: string | null } }[]
    }>()
    const { out } = await shell.good('policy', 'explain', 'inside.json', ...facts)
    return [out.split('\n', 1)[0], cases[0]?.got.decision, cases[0]?.got.reason]
  }
  const denied = ['deny  cannot be evaluated: inside/outside (inside 1)', 'deny', 'policy_error']
  const whole = ['allow  by inside/any (inside 1)', 'allow', null]
  assert.deepEqual(await said({ origins: ['a'], truncated: true }), denied)
  assert.deepEqual(await said({ origins: { truncated: true }, truncated: true }), denied)
  assert.deepEqual(await said({ origins: ['a'], classes: { truncated: true }, truncated: true }), whole)
  assert.deepEqual(await said({ origins: ['a'], truncated: false }), whole)
})

/** A shell whose store has recorded calls with these call records. */
async function givenCalls(
  ...events: readonly (Partial<EventInput> & { readonly record?: AttemptRecord })[]
): Promise<Shell> {
  const shell = await administering(givenShell(), 'local')
  const ambit = await givenAmbit({ folder: shell.cwd })
  const rest = {
    event_type: 'execution_denied',
    payload: {},
    correlation: { correlation_id: 'c' },
    capability_id: descriptor.id,
  }
  for (const event of events) await record(ambit, operator(tenantId('local')), [{ ...rest, ...event }])
  await ambit.close()
  return shell
}

const { context, basis, policy } = exampleRecord
const held = { context, basis, policy, decision: 'requires_approval', approval: null } as unknown as AttemptRecord
const recordOf = (minutes: number, decision: string): AttemptRecord =>
  ({
    ...held,
    decision,
    basis: [{ gate: 6, rule: 'release/rule', effect: decision, reads: [] }],
    context: [
      {
        name: 'excursion_minutes',
        source: 'payload:/excursion_minutes',
        state: 'present',
        sensitive: false,
        value: minutes,
      },
    ],
  }) as AttemptRecord

test('policy shadow lists the recorded decisions that other policies would change [F-18 H-49]', async () => {
  const shell = await givenCalls(
    { invocation_id: 'inv_1', record: recordOf(0, 'allow') },
    { invocation_id: 'inv_2', record: held },
    // Two records of one attempt are one call.
    { invocation_id: 'inv_2', record: held },
    { invocation_id: 'inv_3', record: recordOf(14, 'requires_approval') },
    { invocation_id: 'inv_4' },
    { invocation_id: 'inv_5', capability_id: 'depot.other', record: held },
  )
  const minutes = { var: 'context.excursion_minutes' }
  givenFiles(
    {
      'same.json': { ...release, rules: release.rules.slice(1) },
      'strict.json': { ...changed({ '==': [minutes, 0] }), mode: 'audit_only' },
      'trial.json': { ...changed({ '==': [minutes, 0] }), name: 'trial', mode: 'audit_only' },
      'clinic.json': changed({ '==': [{ var: 'context.consignee' }, 'Clinic 88'] }),
    },
    shell,
  )
  assert.equal(
    (await shell.good('policy', 'shadow', 'same.json')).out,
    '3 decisions: 3 equal, 0 would change, 0 cannot be told\n',
  )
  // On trial it changes nothing, as `explain` says; enforced it would.
  const onTrial = await shell.good('policy', 'shadow', 'strict.json')
  assert.equal(onTrial.out, '0 decisions: 0 equal, 0 would change, 0 cannot be told\n')
  const both = await shell.good('policy', 'shadow', 'same.json', 'trial.json')
  assert.equal(both.out, '3 decisions: 3 equal, 0 would change, 0 cannot be told\n')
  const asked = ['shadow', 'strict.json', '--enforce']
  const strict = await shell.run('policy', ...asked, '--since', '7d', '--capability', descriptor.id)
  assert.deepEqual([strict.code, strict.err], [1, ''])
  assert.match(
    strict.out,
    /^3 decisions: 1 equal, 2 would change, 0 cannot be told\n\nTIME +CAPABILITY +DECIDED +WOULD BE +BY +EVENT\n/,
  )
  assert.equal(strict.out.match(/depot\.release_batch +requires_approval +deny +no rule allows it +evt_/g)?.length, 2)
  assert.equal(
    (await shell.good('policy', ...asked, '--until', '1h')).out,
    '0 decisions: 0 equal, 0 would change, 0 cannot be told\n',
  )
  const clinic = await shell.good('policy', 'shadow', 'clinic.json')
  assert.match(clinic.out, /^3 decisions: 0 equal, 0 would change, 3 cannot be told\n/)
  assert.match(clinic.out, / \? +needs context\.consignee +evt_/)
  const { calls } = (await shell.run('policy', ...asked, '--json')).json<{
    calls: { invocation_id: string; answer: object }[]
  }>()
  assert.deepEqual(
    calls.map(({ invocation_id }) => invocation_id),
    ['inv_3', 'inv_2', 'inv_1'],
  )
  assert.deepEqual(calls[0]?.answer, { is: 'differs', from: 'requires_approval', to: 'deny', rule: null })
})

test('policy shadow finds no change with the policy in force, whatever the calls were refused for [F-18 H-49]', async () => {
  const { shell, planner } = await givenDepot()
  const statement = "statement: 'Anyone may read a temperature.'"
  const written = readFileSync(join(shell.cwd, 'ambit.config.ts'), 'utf8')
  const asking = written.replace(statement, `${statement}, approval_required: true`)
  const all = { name: 'all', version: '1', applies_to: ['*'], rules: [{ id: 'yes', when: true, decision: 'allow' }] }
  givenFiles({ 'ambit.config.ts': asking.replace('policies: [', "policies: ['all.json', "), 'all.json': all }, shell)
  await planner.run('call', 'depot.temperature', '--payload', '{"room":"north"}')
  await planner.run('call', 'depot.temperature', '--payload', '{"room":"attic"}')
  await planner.run('call', 'depot.nothing')
  await planner.run(...releaseCall(14))
  await shell.run(...releaseCall(0))
  const said = await shell.run('policy', 'shadow', 'all.json', 'policies/quality-release.json')
  assert.match(said.out, /^3 decisions: 3 equal, 0 would change, 0 cannot be told\n$/)
})

test('policy shadow reads evidence, so it needs the right to audit [F-18 F-09]', async () => {
  const shell = givenFiles({ 'release.json': release }, await givenCalls({ record: held }))
  await shell.good('principal', 'create', 'ida', '--role', 'approver')
  await shell.good('principal', 'create', 'kim', '--role', 'auditor')
  const as = async (id: string) => shell.with({ env: { AMBIT_KEY: (await givenKey(shell, id)).secret } })
  const { code, err } = await (await as('ida')).run('policy', 'shadow', 'release.json')
  assert.equal(code, 1)
  assert.match(err, /this key may not audit \(caller_not_permitted\)/)
  await (await as('kim')).good('policy', 'shadow', 'release.json')
})
