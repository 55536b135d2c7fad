import { formatSortedId } from '../../base/ids.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { RunEvent, RunRecord } from '../../model/run.ts'
import type { Leg } from '../../storage/tables/runs/legs.ts'
import { addRun } from '../../storage/tables/runs/runs.ts'
import type { Change, Statement } from '../../storage/work.ts'

export const runId = (count: number): string => formatSortedId('run', 0, count)

type Wish = Partial<Pick<RunRecord, 'run_id' | 'root_run_id' | 'agent_id' | 'status' | 'session_id' | 'mode'>>

/** As much of a record as the store looks at. */
export const sampleRun = (wish: Wish = {}) => {
  const run_id = wish.run_id ?? runId(1)
  const named = { run_id, root_run_id: run_id, agent_id: 'desk', session_id: null }
  const base = { ...named, status: 'running', mode: null, ...wish }
  return { record: base as RunRecord, private: {} }
}

export const sampleEvent = (rootId: string, event_id: number, said = ''): RunEvent =>
  ({ event_id, run_id: rootId, root_run_id: rootId, type: 'run.paused', data: { said } }) as unknown as RunEvent

export const making = (...make: readonly ((tenant: TenantId) => Statement | readonly Statement[])[]): Change<void> =>
  function* (tenant) {
    yield make.flatMap((each) => each(tenant))
  }

export const starting = (wish: Wish, requestKey: string | null = null): Change<void> =>
  making((tenant) => addRun(tenant, sampleRun(wish), requestKey))

export const legOf = (id: string, owner = 'a'): Leg => ({ runId: id, owner, fence: 1, wakes: 0 })
