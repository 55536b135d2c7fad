/** A file of a pack as it lies there: nothing of its text. */
export interface PackFile {
  /** Relative to the pack, with `/`. */
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  /** When anything about it changed last: its time of modification can be set back. */
  readonly changedMs: number
  /** Tells a file from another that was put in its place. */
  readonly fileId: string
}
