import { limits } from '../../base/limits.ts'
import { counted } from '../../base/words.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { folderOf, isContext, placeOf, splitsOf } from '../select/layout.ts'
import { type CountTokens, withHeadings } from '../select/section.ts'
import type { PackContent, PackText } from './pack-content.ts'
import { documentSections } from './sections.ts'

/**
 * Sections that are divided when they are selected, because they are too long to be sent whole: one finding a file. A
 * split of a document is not told: it is the document that has to be mended.
 */
export function checkSections({ files }: PackContent, count: CountTokens): readonly Diagnostic[] {
  const divided = new Set(files.filter(({ path }) => placeOf(path) === 'document').map(({ path }) => splitsOf(path)))
  const isCopy = (path: string): boolean => divided.has(folderOf(path))
  return files
    .filter(({ path }) => isContext(path) && prose.test(path) && !isCopy(path))
    .flatMap((file) => oversized(file, count))
}

const prose = /\.(?:md|mdx|markdown|txt)$/i

function oversized(file: PackText, count: CountTokens): readonly Diagnostic[] {
  const max = limits.knowledgeSectionTokensMax
  const long = documentSections(file)
    // The estimate is rather too high than too low, and cheaper.
    .filter(({ tokens }) => tokens > max)
    .map(({ line, headings, body }) => ({ line, tokens: count(withHeadings(headings, body)) }))
    .filter(({ tokens }) => tokens > max)
  const [longest] = long.toSorted((left, right) => right.tokens - left.tokens || left.line - right.line)
  if (longest === undefined) return []
  const message = `${counted(long.length, 'section')} over ${max} tokens, to be cut apart; the longest, at line ${longest.line}, has ${longest.tokens}`
  return [diagnostic('section-oversized', file.path, message)]
}
