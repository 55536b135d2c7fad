/** Whether a call changed the world: no, unknown, or yes. */
export type Effect = 'none' | 'unknown' | 'done'

/** Thrown by a handler that knows whether it had an effect. With `unknown` the call is indeterminate. */
export class CallEnded extends Error {
  override readonly name: string
  readonly code: string
  readonly effect: Effect
  /** True if the effect is the word of an upstream, which may lie. */
  readonly isClaimed: boolean

  constructor(
    code: string,
    message: string,
    { effect, type = 'UpstreamError', isClaimed = false }: { effect: Effect; type?: string; isClaimed?: boolean },
  ) {
    super(message)
    this.name = type
    this.code = code
    this.effect = effect
    this.isClaimed = isClaimed
  }
}

/** Why a handler is told to stop: its time is over, or the caller has cancelled it. */
export class TimedOut extends Error {}
export class Cancelled extends Error {}
