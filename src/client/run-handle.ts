import type { RunEvent, RunRecord } from '../model/run.ts'
import type { Operable, Run, Runs } from '../operations/ambit.ts'

/** Answers the record of a run once it has ended or waits for people, where this process drives it. */
type Follow = (id: string) => Promise<RunRecord | undefined>

/** All operations, and `run`, which starts a run to be followed. */
export const withRun = (api: Omit<Operable, 'run'>, follow: Follow = async () => undefined): Operable => ({
  ...api,
  run: async (...given) => runHandle(api.runs, await api.runs.start(...given), follow),
})

type Status = RunRecord['status']

const hasEnded = (status: Status): boolean => ['completed', 'failed', 'cancelled'].includes(status)
const hasSettled = (status: Status): boolean => hasEnded(status) || status === 'paused'

function runHandle(runs: Runs, started: RunRecord, follow: Follow): Run {
  const { run_id: id } = started
  const until = async (isOver: (status: Status) => boolean): Promise<RunRecord> => {
    if (isOver(started.status)) return started
    const followed = await follow(id)
    return followed !== undefined && isOver(followed.status) ? followed : followRun(runs, id, { isOver })
  }
  return {
    id,
    events: (options) => runs.events(id, options),
    result: () => until(hasEnded),
    settled: () => until(hasSettled),
    cancel: () => runs.cancel(id),
  }
}

/** Reads the events of a run until it has ended or waits for people, and answers its record; `show` is given each event. */
export async function followRun(
  runs: Runs,
  id: string,
  { isOver = hasSettled, show }: { isOver?: (status: Status) => boolean; show?: (event: RunEvent) => void } = {},
): Promise<RunRecord> {
  for await (const event of runs.events(id)) {
    show?.(event)
    if (event.run_id !== id || !['run.paused', 'run.finished'].includes(event.type)) continue
    // An earlier pause of a run that has gone on since is no end, and more of its events are to come.
    const record = await runs.show(id)
    if (isOver(record.status) && (event.type === 'run.finished' || record.status === 'paused')) return record
  }
  return runs.show(id)
}
