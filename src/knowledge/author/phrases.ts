/** Words that follow one another with at most so many others between them, never across the end of a sentence. */
export interface Phrase {
  readonly kind: string
  /** Only at the start of a sentence; a request such as `could you please` may stand before it. */
  readonly leads: boolean
  readonly steps: readonly Step[]
}

interface Step {
  /** How many other words may stand before it. */
  readonly gap: number
  readonly words: ReadonlySet<string>
  readonly beginnings: readonly string[]
}

/**
 * Reads `ignore|forget 3 previous|prior instruct*`: alternatives with `|`, a number for the words that may lie between,
 * `*` for any ending, `^` in front for the start of a sentence.
 */
export function phrase(kind: string, form: string): Phrase {
  const leads = form.startsWith('^')
  const steps: Step[] = []
  let gap = 0
  for (const part of form.slice(leads ? 1 : 0).split(' ')) {
    if (/^\d+$/.test(part)) gap = Number(part)
    else {
      steps.push(stepOf(part.split('|'), gap))
      gap = 0
    }
  }
  return { kind, leads, steps }
}

const stepOf = (words: readonly string[], gap: number): Step => ({
  gap,
  words: new Set(words.filter((word) => !word.endsWith('*'))),
  beginnings: words.filter((word) => word.endsWith('*')).map((word) => word.slice(0, -1)),
})

export type Finder = (words: readonly string[]) => readonly { readonly at: number; readonly kind: string }[]

/**
 * Finds phrases in words, where a sentence ends with the word `.`. Time grows with the number of words alone: phrases
 * are looked up by how their first word begins, and each looks at a bounded stretch.
 */
export function makeFinder(phrases: readonly Phrase[]): Finder {
  const known = new Map<string, Phrase[]>()
  for (const each of phrases) {
    for (const start of startsOf(each)) known.set(start, [...(known.get(start) ?? []), each])
  }
  return (words) =>
    words.flatMap((word, at) =>
      (known.get(word.slice(0, startChars)) ?? [])
        .filter((each) => (!each.leads || isLeading(words, at)) && matches(each, words, at))
        .map(({ kind }) => ({ at, kind })),
    )
}

const startChars = 3

const startsOf = ({ steps }: Phrase): ReadonlySet<string> => {
  const [first] = steps
  return new Set([...(first?.words ?? []), ...(first?.beginnings ?? [])].map((word) => word.slice(0, startChars)))
}

function matches({ steps }: Phrase, words: readonly string[], from: number): boolean {
  let at = from
  for (const [index, step] of steps.entries()) {
    const end = index === 0 ? at : at + step.gap
    while (at <= end && words[at] !== '.' && !fits(step, words[at])) at++
    if (at > end || words[at] === '.') return false
    at++
  }
  return true
}

const fits = ({ words, beginnings }: Step, word: string | undefined): boolean =>
  word !== undefined && (words.has(word) || beginnings.some((start) => word.startsWith(start)))

const polite = new Set('please kindly can could would you now then also and to always'.split(' '))

function isLeading(words: readonly string[], at: number): boolean {
  let before = at - 1
  while (before >= 0 && at - before <= 4 && polite.has(words[before] ?? '')) before--
  return before < 0 || words[before] === '.'
}
