import type { RunRecord } from '../model/run.ts'
import type { Operable, Run, Runs } from '../operations/ambit.ts'

const ended: readonly string[] = ['completed', 'failed', 'cancelled']

/** Answers the record of a run once it has ended or waits for people, where this process drives it. */
type Follow = (id: string) => Promise<RunRecord | undefined>

/** All operations, and `run`, which starts a run to be followed. */
export const withRun = (api: Omit<Operable, 'run'>, follow: Follow = async () => undefined): Operable => ({
  ...api,
  run: async (...given) => runHandle(api.runs, await api.runs.start(...given), follow),
})

function runHandle(runs: Runs, started: RunRecord, follow: Follow): Run {
  const { run_id: id } = started
  const settled = async (isSettled: (record: RunRecord) => boolean): Promise<RunRecord> => {
    if (isSettled(started)) return started
    const followed = await follow(id)
    if (followed !== undefined && isSettled(followed)) return followed
    for await (const event of runs.events(id)) {
      if (event.run_id !== id || !['run.paused', 'run.finished'].includes(event.type)) continue
      const record = await runs.show(id)
      if (isSettled(record)) return record
    }
    return runs.show(id)
  }
  return {
    id,
    events: (options) => runs.events(id, options),
    result: () => settled(({ status }) => ended.includes(status)),
    settled: () => settled(({ status }) => ended.includes(status) || status === 'paused'),
    cancel: () => runs.cancel(id),
  }
}
