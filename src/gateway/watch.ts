import type { Json } from '../base/canonical.ts'

/** How whoever called follows one call. */
export interface Watch {
  readonly chunk: (chunk: Json) => void
  /** Takes the call back while it runs: its handler is told to stop, and the call ends as one that was cut short. */
  readonly signal?: AbortSignal | undefined
}

export const unwatched: Watch = { chunk: () => undefined }
