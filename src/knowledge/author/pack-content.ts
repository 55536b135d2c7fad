import { byUnit } from '../../base/canonical.ts'
import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import type { Diagnostic } from '../diagnostic.ts'

/** A text file of a pack. */
export interface PackText {
  /** Relative to the pack, with `/`. */
  readonly path: string
  readonly text: string
}

/** One pack as its owner sees it: all of it, not only what a task needs. */
export interface PackContent {
  readonly header: PackHeader
  /** Every regular file, sorted; those that cannot be read as text too. */
  readonly paths: readonly string[]
  readonly files: readonly PackText[]
}

/** Findings in an order that does not depend on how they were looked for. */
export const sortedFindings = (findings: readonly Diagnostic[]): readonly Diagnostic[] =>
  findings.toSorted(
    (left, right) =>
      byUnit(left.path, right.path) ||
      byUnit(left.code, right.code) ||
      lineIn(left) - lineIn(right) ||
      byUnit(left.message, right.message),
  )

const lineIn = ({ message }: Diagnostic): number => Number(/^line (\d+)/.exec(message)?.[1] ?? Number.MAX_SAFE_INTEGER)
