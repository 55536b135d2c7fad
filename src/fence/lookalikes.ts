import { ampersandLike, bracketLike, fold, openerLike, seenAs } from './fold.ts'
import { extend, meaningOf } from './references.ts'

/** The characters of a text that stand for one opening bracket: the bracket itself, or a reference to it. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Where a lenient reader could see one of our elements open or close, in order. Several readers are imagined, which
 * differ in how they decode character references; each goes on until nothing is left to decode or to remove.
 * Time is linear in the text.
 */
export const lookalikes = (text: string): readonly Span[] => readAll(text, openerLike)

/** Of these only the brackets themselves, not the references to one. */
export const tagsIn = (text: string): readonly Span[] =>
  readAll(text, bracketLike).filter(({ start }) => text.charAt(start).search(bracketLike) === 0)

function readAll(text: string, opener: RegExp): readonly Span[] {
  const ends = new Map<number, number>()
  for (const habit of text.search(ampersandLike) < 0 ? habits.slice(0, 1) : habits) {
    for (const { start, end } of read(text, habit, opener)) ends.set(start, Math.max(end, ends.get(start) ?? 0))
  }
  return [...ends].map(([start, end]) => ({ start, end })).sort((a, b) => a.start - b.start)
}

interface Habit {
  /** Waits for the semicolon while other references turn into more of this one; otherwise decodes what can be decoded. */
  readonly patient: boolean
  /** The round in which invisible characters are gone: 0 for a reader that removes them before it decodes. */
  readonly removes: 0 | 1
  /** Knows the forms `&#x26`, `&#x2f` and `&#x3c`, and stops there even when a hex digit follows. */
  readonly short: boolean
}

const habits: readonly Habit[] = [
  { patient: true, removes: 0, short: false },
  { patient: false, removes: 0, short: false },
  { patient: false, removes: 1, short: false },
  { patient: false, removes: 0, short: true },
]

const seen = (words: string): readonly string[] => words.split(' ').map((word) => [...word].map(seenAs).join(''))

const stems = seen('ambit_ knowledge_ available_knowledge_packs')
/** Blanks are invisible, and may stand for what parts the words of a name, as may any mark that does not end a tag. */
const joined = seen(
  'ambitdata ambitsteering knowledgepack knowledgeentry knowledgewarning knowledgesection knowledgeresources availableknowledgepacks',
)
const parting = /^(?!>)[\p{P}\p{S}]$/u
const slashes = ['/', '\\']

// Stands for an ampersand that begins no reference, and for the end of the text.
const inert = '\0'

/** One folded character; `char` is empty for an invisible one. */
interface Unit extends Span {
  readonly char: string
  /** After how many rounds of decoding it stands there, or is removed. */
  readonly round: number
}

interface OpenReference {
  /** From behind its `&`. */
  read: string
  readonly start: number
  end: number
  /** The first round in which all of it stands there. */
  round: number
}

interface Reader extends Habit {
  /** References begun and not ended, each inside the one before it. */
  readonly open: OpenReference[]
  /** Characters to be taken before the text goes on, last first. */
  readonly pending: Unit[]
  /** The last bracket, while what follows may still become a name. */
  bracket: Span | undefined
  /** The letters behind it, while they may begin a stem; and without what parts them, while they may begin a whole name. */
  name: string | undefined
  joined: string | undefined
  readonly found: Span[]
}

function read(text: string, habit: Habit, opener: RegExp): readonly Span[] {
  const reader: Reader = { ...habit, open: [], pending: [], bracket: undefined, name: '', joined: '', found: [] }
  const search = new RegExp(opener)
  for (let start = next(search, text, 0); start < text.length; ) {
    const code = text.codePointAt(start) ?? 0
    const end = start + (code > 0xffff ? 2 : 1)
    const folded = fold(code)
    if (folded.length < 2) take(reader, { char: folded, start, end, round: folded === '' ? habit.removes : 0 })
    else for (const char of folded) take(reader, { char, start, end, round: 0 })
    // Outside of brackets and references nothing else matters, so plain text costs one search.
    start = reader.bracket || reader.open.length > 0 ? end : next(search, text, end)
  }
  take(reader, { char: inert, start: text.length, end: text.length, round: 0 })
  return reader.found
}

function next(search: RegExp, text: string, from: number): number {
  search.lastIndex = from
  return search.exec(text)?.index ?? text.length
}

/** Adds a character; what a reference turns into is added in its turn, to the reference around it or to the name. */
function take(reader: Reader, first: Unit): void {
  for (let unit: Unit | undefined = first; unit !== undefined; unit = reader.pending.pop()) {
    const reference = reader.open.at(-1)
    if (reference !== undefined) advance(reader, reference, unit)
    else if (unit.char === '&') open(reader, unit)
    else match(reader, unit)
  }
}

function advance(reader: Reader, reference: OpenReference, unit: Unit): void {
  const meaning = meaningOf(reference.read)
  const ends = meaning !== undefined
  const tooLate = ends && !reader.patient && unit.round > reference.round
  const isWhole = reader.short && shortForms.includes(reference.read)
  const longer = isWhole ? undefined : extend(reference.read, unit.char)
  if (!tooLate && unit.char === '&') open(reader, unit)
  else if (!tooLate && (unit.char === '' || (unit.char === ';' && ends) || longer !== undefined)) {
    if (unit.char !== '') reference.end = unit.end
    reference.read = longer ?? reference.read
    reference.round = Math.max(reference.round, unit.round)
    if (unit.char === ';') close(reader, reference, meaning)
  } else {
    reader.pending.push(unit)
    close(reader, reference, meaning)
  }
}

const shortForms = ['#x26', '#x2f', '#x3c']

function open(reader: Reader, { start, end, round }: Unit): void {
  reader.open.push({ read: '', start, end, round })
}

/** Ends the innermost reference: it becomes what it stands for, one round later, or else an ampersand that means nothing. */
function close(reader: Reader, { start, end, round }: OpenReference, meaning: string | undefined): void {
  reader.open.pop()
  if (meaning === undefined) reader.pending.push({ char: inert, start, end, round })
  else
    for (const char of meaning === '' ? [''] : [...meaning].reverse())
      reader.pending.push({ char, start, end, round: round + 1 })
}

function match(reader: Reader, { char, start, end }: Unit): void {
  const letter = seenAs(char)
  if (letter === '<') {
    reader.bracket = { start, end }
    reader.name = reader.joined = ''
  } else if (reader.bracket !== undefined && !(reader.name === '' && slashes.includes(letter))) {
    reader.name = longer(stems, reader.name, letter)
    if (!parting.test(letter)) reader.joined = longer(joined, reader.joined, letter)
    const isName = stems.includes(reader.name ?? '') || joined.includes(reader.joined ?? '')
    if (isName) reader.found.push(reader.bracket)
    if (isName || (reader.name === undefined && reader.joined === undefined)) reader.bracket = undefined
  }
}

/** The beginning of a word with one more letter; undefined if no word begins like that. */
function longer(words: readonly string[], begun: string | undefined, letter: string): string | undefined {
  if (begun === undefined) return undefined
  return words.some((word) => word.startsWith(begun + letter)) ? begun + letter : undefined
}
