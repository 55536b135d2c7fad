import type { Diagnostic } from '../diagnostic.ts'
import { checkAnchors } from './anchored.ts'
import { checkLayout } from './layout.ts'
import { type PackContent, sortedFindings } from './pack-content.ts'
import { checkRecords } from './recorded.ts'
import { checkSplits } from './splits.ts'
import { checkSuites } from './suites.ts'

/** Whether one pack is as the format wants it: layout, records, suites, splits, and claims with their sources. */
export const validate = (pack: PackContent): readonly Diagnostic[] =>
  sortedFindings([checkLayout, checkRecords, checkSuites, checkAnchors, checkSplits].flatMap((check) => check(pack)))
