import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import { files } from '../../src/resources/files.ts'
import { agent, calls, type GivenRuns, givenRuns, notes, type Place } from '../support/runs.ts'

const remember = (...texts: readonly string[]) =>
  calls(...texts.map((content): [string, { content: string }] => ['memory_write', { content }]))

/** A clerk that remembers what its input names, as many texts as there are commas. */
const clerk = agent(
  'clerk',
  ({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'user' ? remember(...last.content.split(',')) : 'noted'
  },
  { resources: { memory: { mode: 'read-write' } } },
)

async function given(place: Place = {}): Promise<GivenRuns> {
  const made = await givenRuns({ agents: [clerk] }, place)
  for (const [scope, texts] of [
    ['acme', 'of acme'],
    ['acme/ada', 'tea,coffee'],
    ['acme/ada/home', 'the door code'],
    ['acme/adam', 'of adam'],
  ] as const)
    assert.equal((await made.run('clerk', texts, { context: [scope] })).status, 'completed')
  return made
}

const contents = async ({ ambit }: GivenRuns, scope: string): Promise<string[]> =>
  (await ambit.memory.list(scope)).entries.map(({ content, state }) => `${content}: ${state}`).toSorted()

test('an operator reads one scope with its history, and what is forgotten stays on record [G-77]', async () => {
  const made = await given()
  const { ambit, evidence } = made
  const { entries } = await ambit.memory.list('acme/ada')
  assert.deepEqual(entries.map(({ content }) => content).toSorted(), ['coffee', 'tea'])
  const id = entries[0]?.entry_id ?? ''
  const { history } = await ambit.memory.read(id)
  assert.deepEqual(
    history.map(({ action, agent_id }) => [action, agent_id]),
    [['stored', 'clerk']],
  )
  assert.equal((await ambit.memory.forget(id, { reason: 'it was wrong' })).state, 'forgotten')
  await assert.rejects(ambit.memory.forget(id), { code: 'memory.conflict' })
  await assert.rejects(ambit.memory.read('mem_0000000000000000'), { code: 'memory.not_found' })
  const forgotten = await ambit.evidence.list({ type: 'ambit.memory.forgotten' })
  assert.equal(forgotten.events.length, 1)
  assert.doesNotMatch(JSON.stringify(forgotten), /it was wrong|coffee|tea|acme\/ada/)
  const run = await made.run('clerk', 'again', { context: ['acme/ada'] })
  assert.equal(verifyBundle(await ambit.evidence.export(run.run_id)).valid, true)
  assert((await evidence(run.run_id)).length > 0)
})

test('an erase takes a scope alone, or with all below it, and never a sibling or an ancestor [G-77]', async () => {
  const made = await given()
  const alone = await made.ambit.memory.erase('acme/ada', { reason: 'asked for' })
  assert.deepEqual([alone.status, alone.by_resource['memory']], ['complete', { entries: 2, history: 0 }])
  assert.deepEqual(await contents(made, 'acme/ada'), [])
  assert.deepEqual(await contents(made, 'acme/ada/home'), ['the door code: active'])
  const again = await made.ambit.memory.erase('acme/ada', { recursive: true })
  assert.deepEqual(again.by_resource['memory'], { entries: 1, history: 0 })
  for (const [scope, left] of Object.entries({
    acme: ['of acme: active'],
    'acme/adam': ['of adam: active'],
    'acme/ada/home': [],
  }))
    assert.deepEqual(await contents(made, scope), left)
  const nothing = await made.ambit.memory.erase('acme/ada', { recursive: true })
  assert.deepEqual(nothing.by_resource['memory'], { entries: 0, history: 0 })
})

test('a receipt and its evidence hold no content, and an agent finds nothing of what was erased [G-77]', async () => {
  const made = await given()
  const receipt = await made.ambit.memory.erase('acme/ada', { recursive: true, reason: 'Ada left us' })
  const event = await made.ambit.evidence.show(receipt.evidence_ref)
  assert.doesNotMatch(JSON.stringify([event, { ...receipt, scope: '' }]), /tea|coffee|door code|Ada left|acme\/ada/)
  assert.equal(event.event_type, 'ambit.scope.erased')
  const read = agent('reader', [calls(['memory_read', {}]), 'done'], { resources: { memory: {} } })
  const after = await givenRuns({ agents: [clerk, read] })
  const run = await after.run('reader', 'go', { context: ['acme/ada'] })
  const [finished] = (await after.events(run.run_id)).filter(({ type }) => type === 'tool.finished')
  assert.deepEqual(finished?.data['output'], { ok: true, entries: [] })
})

test('an erase asks every provider; one that fails is named, and the erase is partial [G-77]', async () => {
  const root = mkdtempSync(join(tmpdir(), 'ambit-erase-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const broken = notes({ erase: () => Promise.reject(new Error('a secret of the disk')) }).provider
  const writer = agent('writer', [calls(['files_write', { path: 'a.txt', content: 'x' }]), 'done'], {
    resources: { files: { mode: 'read-write' } },
  })
  const made = await givenRuns({ agents: [writer], providers: [files({ root }), broken] })
  const run = await made.run('writer', 'go', { context: ['acme/ada'] })
  assert.equal(run.status, 'completed', run.error?.message)
  const before = readdirSync(root, { recursive: true }).filter((name) => String(name).endsWith('a.txt'))
  assert.equal(before.length, 1)
  const receipt = await made.ambit.memory.erase('acme/ada')
  assert.deepEqual([receipt.status, receipt.failed, receipt.by_resource['files']?.['files']], ['partial', ['notes'], 1])
  assert(!existsSync(join(root, String(before[0]))))
  assert.doesNotMatch(JSON.stringify(receipt), /secret of the disk/)
})

test('memory of a tenant is for its auditors and administrators, below its roots [G-23 G-77]', async () => {
  const made = await given({ served: true, roots: ['acme'] })
  const [plain, auditor] = [await made.as('pat'), await made.as('otto', ['auditor'])]
  await assert.rejects(plain.memory.list('acme/ada'), { code: 'caller.not_permitted' })
  assert.equal((await auditor.memory.list('acme/ada')).entries.length, 2)
  await assert.rejects(auditor.memory.erase('acme/ada'), { code: 'caller.not_permitted' })
  for (const wanted of [auditor.memory.list('other/ada'), made.ambit.memory.erase('other')])
    await assert.rejects(wanted, { code: 'grant.outside_root' })
  for (const scope of ['', '/acme', 'acme/', 'acme/*', 'acme/..', 'acme//ada'])
    await assert.rejects(made.ambit.memory.list(scope), { code: 'grant.invalid' })
})
