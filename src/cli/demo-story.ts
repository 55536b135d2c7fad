import type { EventInput } from '../runtime/record.ts'

/** The correlation the story happens in. */
export const task = 'run-5521'

interface Part {
  readonly by: 'stock-planner' | 'ida'
  /** What happens, in plain words. */
  readonly says: string
  readonly event: EventInput
}

const call = {
  correlation: { correlation_id: task, environment: 'prod' },
  invocation_id: 'inv_7Q2',
  capability_id: 'depot.release_batch',
  capability_version: '2.1.0',
} as const

const agent = { ...call, actor: { id: 'agent://stock-planner', type: 'agent' } } as const

/** An agent wants to release a batch that was too warm; a pharmacist must agree, and then it happens once. */
export const story: readonly Part[] = [
  {
    by: 'stock-planner',
    says: 'the agent asks to release a batch that was too warm',
    event: { ...agent, event_type: 'approval_requested', payload: { policy: 'quality_release', quorum: 1 } },
  },
  {
    by: 'stock-planner',
    says: 'refused until a pharmacist agrees',
    event: {
      ...agent,
      event_type: 'execution_denied',
      outcome: 'denied',
      payload: {},
      denial: { code: 'approval_required', message: 'quality_release must approve before execution', retryable: true },
    },
  },
  {
    by: 'ida',
    says: 'the pharmacist agrees',
    event: { ...call, event_type: 'approval_granted', payload: { policy: 'quality_release' } },
  },
  {
    by: 'stock-planner',
    says: 'the intent, written before anything happens',
    event: { ...agent, event_type: 'execution_started', payload: {} },
  },
  {
    by: 'stock-planner',
    says: 'the batch is released, once',
    event: { ...agent, event_type: 'execution_completed', outcome: 'success', payload: { slot: 'S-9' } },
  },
]
