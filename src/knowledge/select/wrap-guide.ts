import { limits } from '../../base/limits.ts'
import type { PackPart } from '../../fence/fence.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { entryName } from '../discover/header.ts'
import type { Pack } from '../pack.ts'
import { paragraphs } from './divide.ts'
import { estimateTokens } from './estimate.ts'
import { placeOf } from './layout.ts'
import type { CountTokens } from './section.ts'
import { writeWrapper } from './warnings.ts'

export interface GuideRequest {
  readonly pack: Pack
  /** The body of the entry file. */
  readonly guide: string
  /** Every file of the pack. */
  readonly paths: readonly string[]
  readonly warnings?: readonly Diagnostic[] | undefined
  readonly seed: Uint8Array
  /** Tokens of everything that is emitted; no ceiling if left out. */
  readonly budget?: number | undefined
  readonly count?: CountTokens | undefined
}

export interface WrappedGuide {
  /** Empty if not even the list of files fits. */
  readonly text: string
  readonly tokens: number
  readonly warnings: readonly Diagnostic[]
}

/** The guide of a pack and the list of its files, none of which is opened. Cut between paragraphs where it must be. */
export function wrapGuide(request: GuideRequest): WrappedGuide {
  const { budget = Number.POSITIVE_INFINITY, count = estimateTokens, pack, warnings: given = [] } = request
  const guide = request.guide.trim()
  const ends = [0, ...[...paragraphs(guide)].map(({ to }) => to)]
  const files = resources(request.paths)
  const cut = diagnostic('truncated', entryName, 'the budget did not hold the whole guide', { pack: pack.id })
  const attempt = (end: number): WrappedGuide => {
    const parts: readonly PackPart[] = [
      { element: 'knowledge_pack_guide', path: entryName, text: guide.slice(0, ends[end]).trimEnd() },
      { element: 'knowledge_resources', text: files },
    ]
    const known = end < ends.length - 1 ? [cut, ...given] : given
    const { text, warnings } = writeWrapper(pack, parts, known, { seed: request.seed, disarmed })
    return { text, tokens: count(text), warnings }
  }
  const whole = attempt(ends.length - 1)
  if (whole.tokens <= budget) return whole
  // By halves: a guide of thousands of paragraphs is not written thousands of times.
  let best: WrappedGuide | undefined
  let [low, high] = [0, ends.length - 2]
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = attempt(middle)
    if (found.tokens <= budget) best = found
    if (found.tokens <= budget) low = middle + 1
    else high = middle - 1
  }
  return best ?? { text: '', tokens: 0, warnings: [tooSmall(pack)] }
}

const tooSmall = ({ id }: Pack): Diagnostic =>
  diagnostic('budget-too-small', entryName, 'not even the list of files fits into the budget', { pack: id })

const disarmed = (places: number): string => `${places} places looked like markup of ours`

/** One file a line; a name cannot make a second line. */
function resources(paths: readonly string[]): string {
  const shown = paths.filter((path) => placeOf(path) !== undefined).sort()
  const lines = shown
    .slice(0, limits.knowledgeResourcesShownMax)
    .map((path) => path.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd'))
  const rest = shown.length - lines.length
  return [...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
}
