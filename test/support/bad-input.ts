// What callers get wrong about runs, grants and memory, and how each of it is refused: the same at every door.

import type { Ambit } from '../../src/operations/ambit.ts'

/** What is there already when something is asked for. */
export interface Scene {
  /** A run that waits for people, in the session `desk-7`. */
  readonly waiting: string
  /** A run that has ended. */
  readonly ended: string
  /** Entries of memory in the scope `acme/eu`. */
  readonly superseded: string
  readonly forgotten: string
}

export interface Refusal {
  readonly status: number
  /** As it is spelled on a wire. */
  readonly code: string
  readonly says: string | RegExp
  readonly data?: Readonly<Record<string, unknown>>
  readonly ask: (ambit: Ambit, scene: Scene) => Promise<unknown>
  /** Asked by a person of the tenant who has no role and no run. */
  readonly isStranger?: true
}

type Says = Refusal['says']

const refused = (
  [status, code]: readonly [number, string],
  says: Says,
  ask: Refusal['ask'],
  data?: Refusal['data'],
): Refusal => ({ status, code, says, ask, ...(data && { data }) })

const byStranger = (row: Refusal): Refusal => ({ ...row, isStranger: true })

const bad = (code: string): readonly [number, string] => [400, code]

/** A start of the clerk with this beside its input. */
const start =
  (options: object, agent = 'clerk', input: unknown = 'hi'): Refusal['ask'] =>
  (ambit) =>
    ambit.runs.start(agent, input as string, options)

const long = 'x'.repeat(400)

/** A grant for each way that its text can be wrong, in the order in which it is looked at. */
const grants: readonly (readonly [reason: string, grant: unknown, says?: string])[] = [
  ['type', 5, 'grant is not valid: type'],
  ['type', null, 'grant is not valid: type'],
  ['empty', '', 'grant `` is not valid: empty'],
  ['encoding', 'acme/\ud800'],
  ['normalization', 'acme/e\u0301'],
  ['whitespace', 'acme/e u', 'grant `acme/e u` is not valid: whitespace'],
  ['whitespace', 'acme/\ufeffeu'],
  ['control', 'acme/\u0001', 'grant `acme/\\u{1}` is not valid: control'],
  ['invisible', 'acme/\u200beu', 'grant `acme/\\u{200b}eu` is not valid: invisible'],
  ['slash', '/acme'],
  ['slash', 'acme/'],
  ['empty_segment', 'acme//eu', 'grant `acme//eu` is not valid: empty segment'],
  ['traversal', 'acme/..', 'grant `acme/..` is not valid: traversal'],
  ['traversal', 'acme/...'],
  ['wildcard', 'acme/*', 'grant `acme/*` is not valid: wildcard'],
  ['wildcard', 'acme/{eu}'],
  ['reserved_character', 'acme\\eu'],
  ['reserved_character', 'acme%2feu', 'grant `acme%2feu` is not valid: reserved character'],
  ['unknown_member', { path: 'acme', mode: 'read' }, 'grant is not valid: unknown member'],
  ['expiry', { path: 'acme', expiresAt: 'tomorrow' }, 'grant is not valid: expiry'],
]

const limits: readonly (readonly [reason: string, says: string, grant: string])[] = [
  ['too_long', 'grant exceeds 512 bytes', 'ü'.repeat(257)],
  ['too_long', 'grant exceeds 512 bytes', 'x/'.repeat(50_000)],
  ['too_deep', 'grant exceeds 32 segments', `${'a/'.repeat(32)}a`],
  ['segment_too_long', 'grant exceeds 128 bytes in one segment', `acme/${'x'.repeat(129)}`],
]

const lists: readonly unknown[] = ['acme', null, { 0: 'acme', length: 1 }, true, 7]

const badGrants: readonly Refusal[] = [
  ...lists.map((context) =>
    refused(bad('grant_list_invalid'), 'context must be a list of grants', start({ context }), {}),
  ),
  ...grants.map(([reason, grant, says]) =>
    refused(
      bad('grant_invalid'),
      says ?? new RegExp(`^grant \`.+\` is not valid: ${reason.replaceAll('_', ' ')}$`),
      start({ context: ['acme', grant] }),
      { reason, index: 1 },
    ),
  ),
  ...limits.map(([reason, says, grant]) =>
    refused(bad('grant_limit'), says, start({ context: ['acme/eu', 'acme/us', grant] }), { reason, index: 2 }),
  ),
  refused(
    bad('grant_limit'),
    'grant list exceeds 64 entries',
    start({ context: Array.from({ length: 65 }, () => 'acme/eu') }),
    { reason: 'too_many' },
  ),
  // One bad entry refuses all, even where an equal one came before.
  refused(bad('grant_invalid'), /empty segment$/, start({ context: ['acme', 'acme', 'a//b'] }), {
    reason: 'empty_segment',
    index: 2,
  }),
]

const authority: readonly Refusal[] = [
  ...[['acme/eu'], [], null, 'acme', ['*']].map((context) =>
    byStranger(refused([403, 'grant_not_mintable'], 'this credential cannot set grants', start({ context }), {})),
  ),
  refused(
    [403, 'grant_outside_root'],
    'grant `other/eu` is outside this tenant',
    start({ context: ['acme/eu', 'other/eu'] }),
  ),
  refused([403, 'grant_outside_root'], 'grant `acm` is outside this tenant', start({ context: ['acm'] })),
  refused([403, 'grant_outside_root'], 'grant `ACME` is outside this tenant', start({ context: ['ACME'] })),
  refused(
    [403, 'grant_outside_root'],
    `grant \`${'y/'.repeat(31)}${'y'.repeat(17)}…\` is outside this tenant`,
    start({ context: [`${'y/'.repeat(31)}${'y'.repeat(100)}`] }),
  ),
  refused([403, 'grant_protected'], 'grant `acme` is too broad for a protected branch', start({ context: ['acme'] })),
  refused(
    [403, 'grant_protected'],
    'grant `acme/hr` is too broad for a protected branch',
    start({ context: ['acme/hr'] }),
  ),
  refused(
    [403, 'grant_protected'],
    /^grant `acme\/hr\/ada` is too broad/,
    start({ context: ['acme/eu', 'acme/hr/ada'] }),
  ),
]

const requests: readonly Refusal[] = [
  refused(bad('id_invalid'), 'id `a b` is not valid', start({ contextIds: ['notes', 'a b'] })),
  refused(bad('id_invalid'), 'id `` is not valid', start({ contextIds: [''] })),
  refused(bad('id_invalid'), `id \`${'x'.repeat(79)}…\` is not valid`, start({ contextIds: [long] })),
  refused(bad('id_invalid'), 'id `a/b` is not valid', start({ sessionId: 'a/b' })),
  refused(bad('id_invalid'), `id \`${'x'.repeat(79)}…\` is not valid`, start({ sessionId: long })),
  refused(
    bad('scratchpad_limit'),
    'at most 16 buckets',
    start({ contextIds: Array.from({ length: 17 }, (_, at) => `b${at}`) }),
  ),
  ...['grants', 'invoke', 'run', 'signal', 'contextIds'].map((name) =>
    refused(bad('reserved_name'), `\`${name}\` is reserved`, start({ toolContext: { [name]: ['acme'] } })),
  ),
  refused(bad('args_invalid'), /^input of agent `adder`: .*`\/a`/, start({}, 'adder', { a: 'x' })),
  refused(bad('args_invalid'), /^input of agent `adder`: /, start({}, 'adder', null)),
  refused([404, 'agent_not_found'], 'agent `nobody` not found', start({}, 'nobody')),
  refused([404, 'agent_not_found'], `agent \`${'n'.repeat(79)}…\` not found`, start({}, 'n'.repeat(200))),
  refused(bad('field_unknown'), 'request: `/grants` is not a known member', start({ grants: ['acme'] })),
  refused(bad('field_invalid'), /^request: `\/contextIds` must be an array/, start({ contextIds: 'notes' })),
  refused(bad('field_invalid'), /^request: `\/sessionId` must be/, start({ sessionId: 7 })),
  refused(bad('field_invalid'), /^request: `\/limits\/calls` must be/, start({ limits: { calls: -1 } })),
  refused(bad('field_invalid'), /^request: `\/requestId` must be/, start({ requestId: 'a b' })),
  refused([422, 'run_limit'], 'a limit of cost needs the price of the model', start({ limits: { costCents: 1 } })),
  refused([409, 'session_busy'], 'session `desk-7` has an active run', start({ sessionId: 'desk-7' })),
  refused(
    [409, 'request_conflict'],
    'request id `r-1` was used for another run',
    start({ requestId: 'r-1' }, 'clerk', 'other'),
  ),
]

const missing = (id: string) => `run \`${id}\` not found`

async function read(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events) return
}

/** Every way to ask for a run that is there. */
const named: readonly ((ambit: Ambit, id: string) => Promise<unknown>)[] = [
  (ambit, id) => ambit.runs.show(id),
  (ambit, id) => ambit.runs.cancel(id),
  (ambit, id) => ambit.runs.resume(id),
  (ambit, id) => read(ambit.runs.events(id)),
]

const runs: readonly Refusal[] = [
  ...['run_0000000000000000', 'nothing'].flatMap((id) =>
    named.map((ask) => refused([404, 'run_not_found'], missing(id), (ambit) => ask(ambit, id), { id })),
  ),
  ...named.map((ask) =>
    byStranger(
      refused([404, 'run_not_found'], /^run `run_[0-9a-f]{16}` not found$/, (ambit, { waiting }) =>
        ask(ambit, waiting),
      ),
    ),
  ),
  refused([409, 'run_finished'], /^run `run_[0-9a-f]{16}` has ended$/, (ambit, { ended }) => ambit.runs.cancel(ended)),
  refused([409, 'run_finished'], /^run `run_[0-9a-f]{16}` has ended$/, (ambit, { ended }) => ambit.runs.resume(ended)),
  refused(bad('cursor_invalid'), /cursor/, (ambit) => ambit.runs.list({ cursor: 'zzz' })),
  refused(bad('field_invalid'), /`\/status` must be/, (ambit) => ambit.runs.list({ status: 'gone' as never })),
  refused(bad('field_invalid'), /`\/since` must be/, (ambit) => ambit.runs.list({ since: 'yesterday' })),
  refused(bad('field_invalid'), /`\/limit` must be/, (ambit) => ambit.runs.list({ limit: 0 })),
]

const revocations: readonly Refusal[] = [
  refused(
    bad('grant_invalid'),
    'grant `acme/*` is not valid: wildcard',
    (ambit) => ambit.grants.revoke('path', 'acme/*'),
    {
      reason: 'wildcard',
    },
  ),
  refused(bad('grant_limit'), 'grant exceeds 32 segments', (ambit) =>
    ambit.grants.revoke('path', `${'a/'.repeat(33)}a`),
  ),
  refused(bad('field_invalid'), /`\/by` must be/, (ambit) => ambit.grants.revoke('colour' as never, 'red')),
  byStranger(refused([403, 'caller_not_permitted'], /mint/, (ambit) => ambit.grants.revoke('path', 'acme'))),
]

const memory: readonly Refusal[] = [
  refused(
    bad('grant_invalid'),
    'grant `acme//eu` is not valid: empty segment',
    (ambit) => ambit.memory.list('acme//eu'),
    {
      reason: 'empty_segment',
    },
  ),
  refused(bad('grant_invalid'), 'grant `` is not valid: empty', (ambit) => ambit.memory.list('')),
  refused(bad('grant_limit'), 'grant exceeds 512 bytes', (ambit) => ambit.memory.list('x'.repeat(600))),
  refused([403, 'grant_outside_root'], 'grant `other` is outside this tenant', (ambit) => ambit.memory.list('other')),
  refused([403, 'grant_outside_root'], 'grant `other` is outside this tenant', (ambit) => ambit.memory.erase('other')),
  refused(bad('grant_invalid'), 'grant `acme/%` is not valid: reserved character', (ambit) =>
    ambit.memory.erase('acme/%'),
  ),
  refused(bad('cursor_invalid'), /cursor/, (ambit) => ambit.memory.list('acme/eu', { cursor: 'zzz' })),
  refused([404, 'memory_not_found'], /^entry `mem_0{16}` is not there$/, (ambit) =>
    ambit.memory.read('mem_0000000000000000'),
  ),
  refused([404, 'memory_not_found'], /^entry `mem_0{16}` is not there$/, (ambit) =>
    ambit.memory.forget('mem_0000000000000000'),
  ),
  refused([409, 'memory_superseded'], /^entry `mem_\w+` was superseded$/, (ambit, { superseded }) =>
    ambit.memory.forget(superseded),
  ),
  refused([409, 'memory_conflict'], /./, (ambit, { forgotten }) => ambit.memory.forget(forgotten)),
  ...[
    (ambit: Ambit) => ambit.memory.list('acme/eu'),
    (ambit: Ambit) => ambit.memory.erase('acme/eu'),
    (ambit: Ambit, { superseded }: Scene) => ambit.memory.read(superseded),
    (ambit: Ambit, { superseded }: Scene) => ambit.memory.forget(superseded),
  ].map((ask) => byStranger(refused([403, 'caller_not_permitted'], /./, ask))),
]

export const refusals: Readonly<Record<string, readonly Refusal[]>> = {
  'grants that are none': badGrants,
  'grants that are not to be had': authority,
  'what stands beside them': requests,
  'runs that are not there, or have ended': runs,
  'what is to be revoked': revocations,
  'what is remembered': memory,
}
