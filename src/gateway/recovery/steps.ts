import { setImmediate as nextTurn } from 'node:timers/promises'

/** How much is done at a time of what may be much. */
export interface Steps {
  readonly max: number
  /** Aborts when the caller no longer needs the rest. */
  readonly signal: AbortSignal
}

/** Takes steps as long as one says that there is more to do. Between any two of them all others have their turn. */
export async function inSteps({ max, signal }: Steps, step: () => Promise<boolean>): Promise<void> {
  for (let taken = 0; taken < max && !signal.aborted; taken++) {
    if (!(await step())) return
    await nextTurn()
  }
}
