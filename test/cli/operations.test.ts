import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import type { Io } from '../../src/cli/terminal/io.ts'
import type { EvidenceEvent } from '../../src/model/evidence.ts'
import type { InvocationResult } from '../../src/model/wire/result.ts'
import { walkOperations } from '../../src/operations/operation.ts'
import { operations } from '../../src/operations/table.ts'
import { type Depot, givenDepot, release } from './depot.ts'
import { administering, givenKey, type Ran, type Shell } from './harness.ts'
import { serving } from './serving.ts'

type Who = 'shell' | 'planner' | 'ida'

/** For each operation a command line that uses it, in an order in which all of them work. */
const lines: Readonly<Record<string, readonly [who: Who, line: string]>> = {
  'capabilities.list': ['planner', 'capabilities list'],
  'capabilities.show': ['planner', 'capabilities show depot.release_batch'],
  preview: ['planner', 'preview depot.temperature --payload {"room":"north"}'],
  call: [
    'planner',
    'call depot.temperature --payload {"room":"north"} --id inv_1 --correlation task-1 --purpose check',
  ],
  'packs.validate': ['shell', 'pack validate desk.pack.yaml'],
  'packs.sign': ['shell', 'pack sign desk.pack.yaml'],
  'packs.publish': ['shell', 'pack publish desk.signed.json'],
  'packs.list': ['shell', 'pack list'],
  'packs.show': ['shell', 'pack show ctxpack.desk@1.0.0'],
  compile: ['shell', 'compile --request desk.request.json'],
  'replay.compare': ['shell', 'replay --pack ctxpack.desk@1.0.0 --since 7d'],
  'artifacts.add': ['shell', 'artifact add desk.pack.yaml --type text/yaml --id art_desk'],
  'artifacts.list': ['shell', 'artifact list'],
  'invocations.show': ['planner', 'invocations show inv_1'],
  'agents.list': ['shell', 'agent list'],
  'runs.start': ['shell', 'run clerk --input note --grant northlight/depot --request-id r1'],
  'runs.list': ['shell', 'runs list --agent clerk --limit 5'],
  'runs.show': ['shell', 'runs show <run>'],
  'runs.explain': ['shell', 'explain <run>'],
  'runs.events': ['shell', 'runs watch <run>'],
  'grants.revoke': ['shell', 'grants revoke path northlight/depot --reason over'],
  'memory.list': ['shell', 'memory list northlight/depot'],
  'memory.read': ['shell', 'memory read <entry>'],
  'memory.forget': ['shell', 'memory forget <entry> --reason wrong'],
  'memory.erase': ['shell', 'memory erase northlight/depot --recursive'],
  'approvals.list': ['ida', 'approvals list --state all'],
  'approvals.show': ['ida', 'approvals show <approval>'],
  'approvals.decide': ['ida', 'approvals approve <approval> --rationale seen'],
  'evidence.list': ['shell', 'evidence list --correlation task-1 --since 1h --limit 5'],
  'evidence.show': ['shell', 'evidence show <event>'],
  'evidence.export': ['shell', 'evidence export task-0'],
  'evidence.heads': ['shell', 'evidence heads --limit 1'],
  explain: ['shell', 'explain <event>'],
  'evidence.purge': ['shell', 'evidence purge --correlation task-0 --yes'],
  'principals.create': ['shell', 'principal create bo --kind agent --role lead --role deputy --display Bo'],
  'principals.permit': ['shell', 'principal permit bo stock:read'],
  'principals.withdraw': ['shell', 'principal withdraw bo stock:read'],
  'principals.rotate': ['shell', 'principal rotate bo'],
  'principals.list': ['shell', 'principal list'],
  'principals.revoke': ['shell', 'principal revoke bo'],
  'keys.create': ['shell', 'key create kai --name laptop --scope depot.* --expires 90d'],
  'keys.rotate': ['shell', 'key rotate <key> --grace 1h'],
  'keys.list': ['shell', 'key list'],
  'keys.revoke': ['shell', 'key revoke <key>'],
  'approvers.add': ['shell', 'approver add admin --role lead --expires 30d'],
  'approvers.list': ['shell', 'approver list'],
  'approvers.revoke': ['shell', 'approver revoke admin'],
  'secrets.set': ['shell', 'secret set mail'],
  'secrets.list': ['shell', 'secret list'],
  'secrets.remove': ['shell', 'secret remove mail'],
  'tenants.identity': ['shell', 'tenant identity northlight'],
  'tenants.rotate': ['shell', 'tenant rotate northlight --revoke-old'],
  'tenants.revoke': ['shell', 'tenant revoke acme'],
  'tenants.resume': ['shell', 'tenant resume acme'],
}

/** One ends with a signal alone; the others need a run that is open, or one that packs govern, and have tests of their own. */
const apart = [
  ...['approvals.watch', 'runs.cancel', 'runs.resume', 'runs.export', 'invokeAgent', 'replay.run'],
  ...['decisions.list', 'decisions.show', 'decisions.history'],
]

test('every operation has a command [F-18]', () => {
  const known = [...walkOperations(operations)].map(([path]) => path.join('.'))
  assert.deepEqual(known.toSorted(), [...Object.keys(lines), ...apart].toSorted())
})

describe('a command does the same at the store here as at a host behind --url [F-18 H-06]', () => {
  test.each([[[]], [['--json']]])('every one of them %j', async (more) => {
    const here = await scene()
    const said = new Map<string, unknown>()
    for (const name of Object.keys(lines)) said.set(name, comparable(await here(name, more)))
    const there = await scene()
    await serving(there.depot.shell, [], async (url) => {
      for (const name of Object.keys(lines))
        assert.deepEqual(comparable(await there(name, [...more, '--url', url]), url), said.get(name), name)
    })
  })

  test('new requests are watched at a host too, until a signal', async () => {
    const { depot } = await scene()
    await serving(depot.shell, [], async (url) => {
      const stop = Promise.withResolvers<() => void>()
      const first = Promise.withResolvers<string>()
      const onSignal: Io['onSignal'] = (listener) => {
        stop.resolve(() => listener('SIGINT'))
        return () => undefined
      }
      const ended = depot.ida.with({ onSignal, told: first.resolve }).run('approvals', 'watch', '--url', url)
      assert.match(await first.promise, /^apr_\S+ {2}planner asks for depot\.release_batch/)
      ;(await stop.promise)()
      assert.equal((await ended).code, 0)
    })
  })
})

/** A depot with a call that was made, one that waits, and a second tenant; runs the line of an operation in it. */
async function scene() {
  const depot = await givenDepot()
  await administering(depot.shell, 'acme')
  await depot.planner.good('call', 'depot.temperature', '--payload', '{"room":"north"}', '--correlation', 'task-0')
  const waiting = (await depot.planner.run(...release(14, '--json'))).json<InvocationResult>()
  const { events } = (await depot.shell.good('evidence', 'list', '--correlation', 'task-0', '--json')).json<{
    events: EvidenceEvent[]
  }>()
  const run = (await depot.shell.good('run', 'clerk', '--input', 'dry', '--grant', 'northlight/depot', '--json')).json<{
    run_id: string
  }>()
  const { entries } = (await depot.shell.good('memory', 'list', 'northlight/depot', '--json')).json<{
    entries: { entry_id: string }[]
  }>()
  const names: Readonly<Record<string, string>> = {
    '<run>': run.run_id,
    '<entry>': entries[0]?.entry_id ?? '',
    '<approval>': String(waiting.denial?.details?.['approval_id']),
    '<event>': events[0]?.event_id ?? '',
    '<key>': (await givenKey(depot.shell, 'kai')).key_id,
  }
  await depot.shell.good('pack', 'new', 'desk', '--tenant', 'northlight')
  const keep = async (file: string, ...words: string[]) =>
    writeFileSync(join(depot.shell.cwd, file), (await depot.shell.good(...words)).out)
  await keep('desk.signed.json', 'pack', 'sign', 'desk.pack.yaml')
  await keep('desk.request.json', 'envelope', '--tenant', 'northlight', '--json')
  const perform = async (name: string, more: readonly string[]): Promise<Ran> => {
    const [who, line] = lines[name] ?? assert.fail(name)
    const ran = await shellOf(depot, who).run(...line.split(' ').map((word) => names[word] ?? word), ...more)
    assert.equal(ran.code, 0, `${name}: ${ran.err}${ran.out}`)
    return ran
  }
  return Object.assign(perform, { depot })
}

const shellOf = (depot: Depot, who: Who): Shell => depot[who].with({ stdin: async () => 'hunter2' })

/** What was printed, as lines or as the value it is: members have no order. */
function comparable(ran: Ran, url?: string): unknown {
  const text = masked(ran, url)
  const isLines = text.startsWith('{') && !text.startsWith('{\n')
  if (isLines)
    return text
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each))
  return /^[{[]/.test(text) ? JSON.parse(text) : text.replaceAll(',\n', '\n').split('\n').toSorted()
}

/** What differs from one store and one day to the next: ids, times, digests, keys, and how many heads were signed by now. */
const masked = ({ out }: Ran, url = ''): string =>
  out
    .replaceAll(url === '' ? '\0' : url, 'tenant `northlight`')
    .replaceAll(/\b(gr|mem|run|tool)_[0-9a-z]{16,}|\b([a-z]+)_[0-9a-z]{20,}/g, '$1$2_id')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d\d:\d\d:\d\d\b/g, 'time')
    .replaceAll(/\b[0-9a-f]{32}\b/g, 'trace')
    .replaceAll(/[\w+/-]{40,}=*/g, 'digest')
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'key')
    .replaceAll(/"next": ".*"/g, '"next": "cursor"')
    .replaceAll(/^(\s*"(?:log_size|sequence|as_of_sequence)": |)\d+/gm, '$10')
    .replaceAll(/\d h \d+ min left/g, 'left')
    .replaceAll(/ {2,}|-{2,}/g, '  ')
