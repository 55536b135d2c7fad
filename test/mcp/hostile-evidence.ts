// What the evidence of a tenant holds, read when everything is over.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { EvidenceEvent } from '../../src/model/evidence.ts'
import type { Shell } from '../cli/harness.ts'

/** All events of the tenant. */
export async function eventsIn(shell: Shell): Promise<readonly EvidenceEvent[]> {
  const events: EvidenceEvent[] = []
  for (let cursor: string[] = []; ; ) {
    const page = (await shell.good('evidence', 'list', '--json', '--limit', '1000', ...cursor)).json<Page>()
    events.push(...page.events)
    if (page.next === undefined) return events
    cursor = ['--cursor', page.next]
  }
}

interface Page {
  readonly events: readonly EvidenceEvent[]
  readonly next?: string
}

/** How many calls of somebody are on record in these tasks. */
export function callsIn(events: readonly EvidenceEvent[], who: string, tasks: ReadonlySet<string>): number {
  const theirs = events.filter(
    ({ correlation, subject, invocation_id }) =>
      invocation_id !== undefined && subject?.id === who && tasks.has(correlation.correlation_id),
  )
  return new Set(theirs.map(({ invocation_id }) => invocation_id)).size
}

/** The evidence of a task as a file that verifies by itself. */
export async function assertVerifies(shell: Shell, task: string): Promise<void> {
  const file = join(shell.cwd, `${task}.json`)
  await shell.good('evidence', 'export', task, '--out', file)
  assert.match((await shell.good('verify', file)).out, /valid|holds|verified/i)
}
