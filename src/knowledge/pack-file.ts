/** A file of a pack as it lies there: nothing of its text. */
export interface PackFile {
  /** Relative to the pack, with `/`. */
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Tells a file from another that was put in its place. */
  readonly fileId: string
}
