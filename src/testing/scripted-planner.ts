import { Failure } from '../base/failure.ts'
import type { Planner, PlanRequest } from '../runs/plan/planner.ts'

export interface ScriptedPlanner extends Planner {
  /** What it was told, in order. */
  readonly requests: readonly PlanRequest[]
}

/** Plans in their order, or a function from a request to its plan: as data or JSON text, good or not. An error is thrown. */
export type PlanScript = readonly unknown[] | ((request: PlanRequest) => unknown)

/** A planner that proposes what it is told to. */
export function scriptedPlanner(script: PlanScript, { id = 'scripted' } = {}): ScriptedPlanner {
  const requests: PlanRequest[] = []
  const plan: Planner['plan'] = async (request) => {
    // Members are made when they are read: kept are those of this moment.
    const index = requests.push({ ...request }) - 1
    const said: unknown = typeof script === 'function' ? await script(request) : script[index]
    if (said === undefined) throw new Failure('model.failed', `the script has no plan ${index + 1}: it has run out`)
    if (said instanceof Error) throw said
    return { plan: said }
  }
  return { id, requests, plan }
}
