import type { Diagnostic } from '../diagnostic.ts'
import { checkDescription } from './descriptions.ts'
import { checkGrounding } from './grounding.ts'
import { type PackContent, sortedFindings } from './pack-content.ts'
import { checkReferences } from './references.ts'
import { checkSections } from './section-size.ts'
import { checkSplits } from './splits.ts'
import { textFindings } from './text-findings.ts'

/** What the owner of a pack should look at: nothing here makes it unusable, besides a secret in it. */
export const lint = (pack: PackContent, deps: { readonly count: (text: string) => number }): readonly Diagnostic[] =>
  sortedFindings([
    ...checkDescription(pack.header),
    ...pack.files.flatMap(textFindings),
    ...checkGrounding(pack),
    ...checkReferences(pack),
    ...checkSplits(pack),
    ...checkSections(pack, deps.count),
  ])
