/** A place in a text, and what was found there. */
export interface Found {
  /** From 1. */
  readonly line: number
  readonly kind: string
}

/** What is looked for, and what it is called. */
export interface Form {
  readonly kind: string
  readonly form: RegExp
}

export interface Search {
  /** The line of a place in the text, from 1; whatever ends the lines. */
  lineOf(offset: number): number
  /** All places that have one of the forms; of matches only those that count. */
  all(forms: readonly Form[], counts?: (match: RegExpExecArray) => boolean): readonly Found[]
}

/** Searches a text. Where its lines begin is looked for only when something is found. */
export function searchIn(text: string): Search {
  let starts: readonly number[] | undefined
  const lineOf = (offset: number): number => {
    starts ??= lineStarts(text)
    let [low, high] = [0, starts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    lineOf,
    all: (forms, counts = () => true) =>
      forms.flatMap(({ kind, form }) => [
        ...text
          .matchAll(form)
          .filter(counts)
          .map(({ index }) => ({ line: lineOf(index), kind })),
      ]),
  }
}

const lineStarts = (text: string): readonly number[] => [
  0,
  ...text.matchAll(/\r\n|[\n\r]/g).map(({ 0: end, index }) => index + end.length),
]

/** Each kind once a line, in the order of the lines. */
export const distinct = (found: readonly Found[]): readonly Found[] =>
  [...new Map(found.map((each) => [`${each.line} ${each.kind}`, each])).values()].sort((a, b) => a.line - b.line)

/**
 * Text as it is compared with patterns: compatibility form, lower case, nothing invisible, plain apostrophes, lines ended
 * by a line feed. It has the same lines as the text.
 */
export function folded(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n')
  // Almost all text is plain, and plain text needs no more than this.
  if (plain.test(lines)) return lines.toLowerCase()
  return lines.normalize('NFKC').replace(unseen, '').replace(/[‘’ʼ]/g, "'").toLowerCase()
}

const plain = /^[\t\n\x20-\x7e]*$/
// Control characters that do not end a line, and whatever shows nothing.
const unseen = /(?!\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
