import { byCodePoint } from '../../src/base/canonical.ts'
import { sha256 } from '../../src/base/hash.ts'
import type { Pins, Refused, Signatory, Verified } from '../../src/evidence/statements/statement.ts'
import {
  isPinned,
  partyOf,
  readShape,
  refused,
  signHeader,
  statementProblem,
} from '../../src/evidence/statements/statement.ts'
import { type BundleReport, type VerifyOptions, verifyBundle } from '../../src/evidence/verify/verify.ts'
import type { ForeignBundle } from '../../src/model/evidence.ts'
import { type TaskBundle, taskBundle } from '../../src/model/wire/statement.ts'

/** The root over the bundles of all hosts of a task, which stand in order of host and root. */
export const taskRoot = (bundles: readonly Pick<ForeignBundle, 'root_hash'>[]): string =>
  sha256(bundles.map((bundle) => `${bundle.root_hash}\n`).join(''))

/** Joins the bundles of one correlation; with an aggregator, it vouches for the set. */
export function makeTaskBundle(
  { bundles, createdAt }: { readonly bundles: readonly ForeignBundle[]; readonly createdAt: string },
  aggregator?: Signatory,
): TaskBundle {
  const sorted = bundles.toSorted(byHostAndRoot)
  const header = {
    kind: 'task-bundle',
    protocol_version: '0.2',
    correlation_id: sorted[0]?.events[0]?.correlation.correlation_id ?? '',
    created_at: createdAt,
    canonicalization: 'chp-stable-v1',
    task_root_hash: taskRoot(sorted),
  } as const
  const assurance = sorted.every((bundle) => bundle.assurance === 'signed') ? 'signed' : 'hash-chain'
  const task = { ...header, assurance, bundles: sorted } as const
  if (aggregator === undefined) return task
  return { ...task, aggregator: { ...partyOf(aggregator), signature: signHeader(header, aggregator.signer) } }
}

const byHostAndRoot = (a: ForeignBundle, b: ForeignBundle): number =>
  byCodePoint(a.host_id, b.host_id) || byCodePoint(a.root_hash, b.root_hash)

interface TaskOptions extends VerifyOptions {
  /** The keys of aggregators to trust; given, an aggregator is demanded. */
  readonly aggregators?: Pins
}

/** Verifies every member, their order and root, that each cause is in the task, and the aggregator if there is one. */
export function verifyTaskBundle(input: unknown, options: TaskOptions = {}): Verified<readonly BundleReport[]> {
  const read = readShape(taskBundle, input)
  if (!read.ok) return read
  const task = read.value
  const reports = (input as TaskBundle).bundles.map((bundle) => verifyBundle(bundle, options))
  return (
    memberProblem(task, reports) ??
    orderProblem(task) ??
    closureProblem(task) ??
    aggregatorProblem(task, options.aggregators) ?? { ok: true, value: reports }
  )
}

function memberProblem(task: TaskBundle, reports: readonly BundleReport[]): Refused | undefined {
  for (const { valid, correlation_id, first, host_id, tier } of reports) {
    if (!valid) return refused('members', `the bundle of \`${host_id}\` is not valid: ${first?.message}`)
    if (correlation_id !== task.correlation_id) return refused('members', 'a bundle is of another correlation')
    if (task.assurance === 'signed' && tier !== 'signed') return refused('tier', 'a bundle is not signed')
  }
  return undefined
}

function orderProblem({ bundles, task_root_hash }: TaskBundle): Refused | undefined {
  const rising = bundles.every((bundle, index) => {
    const before = bundles[index - 1]
    return before === undefined || byHostAndRoot(before, bundle) < 0
  })
  if (!rising) return refused('order', 'the bundles are not in order of host and root')
  return taskRoot(bundles) === task_root_hash ? undefined : refused('root', 'the root is not that of the bundles')
}

/** Every cause is an invocation of the task, and every host that was declared to take part is there. */
function closureProblem({ bundles }: TaskBundle): Refused | undefined {
  const events = bundles.flatMap((bundle) => bundle.events)
  const invocations = new Set(events.map((event) => event.invocation_id))
  const hosts = new Set(bundles.map((bundle) => bundle.host_id))
  for (const { correlation, event_type, payload } of events) {
    const cause = correlation.causation_id ?? null
    if (cause !== null && !invocations.has(cause)) return refused('closure', 'a cause is not in the task')
    const declared = event_type === 'task_participants_declared' ? payload['participants'] : []
    if (!Array.isArray(declared) || !declared.every((host) => hosts.has(host)))
      return refused('participants', 'a host that was declared to take part is missing')
  }
  return undefined
}

function aggregatorProblem(task: TaskBundle, pins: Pins | undefined): Refused | undefined {
  const { aggregator, assurance: _, bundles: __, ...header } = task
  if (aggregator === undefined)
    return pins === undefined ? undefined : refused('aggregator', 'no aggregator vouches for the task')
  const { signature, ...party } = aggregator
  if (!isPinned(pins ?? 'any', party.public_key)) return refused('pin', 'the key is not that of a known aggregator')
  return statementProblem({ ...header, signature }, party, task.created_at)
}
