/** The work of several branches, once all of them have ended. One that waits for people keeps no other from its end. */
export async function allOrPause<T>(branches: readonly Promise<T>[]): Promise<readonly T[]> {
  const ended = await Promise.allSettled(branches)
  const failed = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  const broken = failed.find((reason) => !(reason instanceof Paused))
  if (broken !== undefined) throw broken
  if (failed.length > 0) throw new Paused(Math.min(...(failed as Paused[]).map(({ untilMs }) => untilMs)))
  return ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

export const cancelled = (): RunEnd => new RunEnd('run_cancelled', 'the run was cancelled', 'cancelled')

/** This process leaves the run to another, or can no longer say how it goes on. */
export class LegLost extends Error {}

/** A run that waits for people, with everything above it. */
export class Paused extends Error {
  readonly untilMs: number
  constructor(untilMs: number) {
    super('the run waits for people')
    this.untilMs = untilMs
  }
}

/** How a run ends that does not complete. */
export class RunEnd extends Error {
  readonly status: 'failed' | 'cancelled'
  readonly code: string
  constructor(code: string, message: string, status: 'failed' | 'cancelled' = 'failed') {
    super(message)
    this.code = code
    this.status = status
  }
}
