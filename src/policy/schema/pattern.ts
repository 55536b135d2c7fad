import { Failure, quote } from '../../base/failure.ts'
import type { Steps } from '../../base/steps.ts'

/**
 * Finds what the platform's expression finds, with no more steps than states for each character: all ways through it
 * are followed at once. States and steps of tests are counted.
 */
export function compilePattern(source: string, steps: Steps): { test(text: string): boolean; toString(): string } {
  const machines: Machine[] = []
  machines.push(makeMachine(readPattern(source), { isBackwards: false, machines, looks: new Map(), steps }))
  const test = (text: string): boolean => {
    steps.spend(text.length + testSteps)
    const read: Text = { points: pointsOf(text), looks: [] }
    for (const machine of machines) read.looks.push(endsOf(machine, read, steps))
    return read.looks.at(-1)?.includes(1) === true
  }
  return { test, toString: () => source }
}

const testSteps = 128
// What is asked of the platform, of one character, takes longer than to look it up.
const askedSteps = 8

/** Far quicker than to ask for one character after the other. */
function pointsOf(text: string): Uint32Array {
  const points = new Uint32Array(text.length)
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at) ?? 0
    points[count++] = point
    if (point > 0xffff) at++
  }
  return points.subarray(0, count)
}

interface Text {
  readonly points: Uint32Array
  /** By machine: 1 at each place where it comes to an end. */
  readonly looks: Uint8Array[]
}

/** Takes a character, or stands at a place, or only leads on; the one that does not lead on is the end. */
interface State extends Demand {
  readonly next: State[]
  /** The last turn in which it was reached. */
  turn: number
}

interface Demand {
  readonly takes?: CharTest | undefined
  readonly holds?: ((text: Text, at: number) => boolean) | undefined
}

interface Machine {
  readonly start: State
  readonly isBackwards: boolean
  turn: number
}

/** Every place at which a way through the machine ends that began anywhere before. */
function endsOf(machine: Machine, text: Text, steps: Steps): Uint8Array {
  const { start, isBackwards } = machine
  const { length } = text.points
  const ends = new Uint8Array(length + 1)
  // Filled again and again from the start: to empty a list gives its room away.
  const reached: State[] = []
  const taking: State[] = []
  let waiting = 0
  for (let count = 0; count <= length; count++) {
    const at = isBackwards ? length - count : count
    const turn = ++machine.turn
    let takers = 0
    reached[waiting++] = start
    while (waiting > 0) {
      const state = reached[--waiting] as State
      if (state.turn === turn) continue
      state.turn = turn
      if (state.takes !== undefined) taking[takers++] = state
      else if (state.next.length === 0) ends[at] = 1
      else if (state.holds === undefined || state.holds(text, at)) {
        steps.spend(1 + state.next.length)
        for (const next of state.next) reached[waiting++] = next
      } else steps.spend(1)
    }
    if (count === length) break
    const point = text.points[isBackwards ? at - 1 : at] as number
    steps.spend(1 + takers * (point > 127 ? askedSteps : 1))
    for (let index = 0; index < takers; index++) {
      const { takes, next } = taking[index] as State
      if (takes?.(point)) for (const state of next) reached[waiting++] = state
    }
  }
  return ends
}

type CharTest = (point: number) => boolean

interface Building {
  readonly isBackwards: boolean
  /** All of the pattern so far: those of what looks ahead or behind stand before what they are a part of. */
  readonly machines: Machine[]
  readonly looks: Map<Part, number>
  readonly steps: Steps
}

/** Makes the states of a part, which lead to the next, and gives the first of them. */
type Part = (next: State, building: Building) => State

const makeMachine = (whole: Part, building: Building): Machine => ({
  start: whole(makeState([], building), building),
  isBackwards: building.isBackwards,
  turn: 0,
})

function makeState(next: State[], { steps }: Building, { takes, holds }: Demand = {}): State {
  steps.spend(1)
  return { next, takes, holds, turn: 0 }
}

const hex = '[\\da-fA-F]'
const escaped = `\\\\(?:u\\{${hex}+\\}|u[dD][89abAB]${hex}{2}\\\\u[dD][c-fC-F]${hex}{2}|u${hex}{4}|x${hex}{2}|c[A-Za-z]|[pP]\\{[^}]*\\}|.)`
const group = '\\((?:\\?(?:[:=!]|<[=!]|<[^>]*>))?'
const count = '[*+?]\\??|\\{\\d+(?:,\\d*)?\\}\\??'
const tokens = new RegExp(`${escaped}|\\[(?:\\\\.|[^\\]\\\\])*\\]|${group}|${count}|.`, 'gsu')

/** Reads a regular expression of ECMAScript with the flag `u`; throws if it is none, or refers back to what it found. */
function readPattern(source: string): Part {
  try {
    // What follows takes it for well formed.
    new RegExp(source, 'u')
  } catch {
    throw refused(source, 'is no regular expression')
  }
  return readChoice({ source, tokens: source.match(tokens) ?? [], at: 0 })
}

const refused = (source: string, why: string): Failure =>
  new Failure('field.invalid', `the pattern ${quote(source)} ${why}`)

interface Reader {
  readonly source: string
  readonly tokens: readonly string[]
  at: number
}

function readChoice(reader: Reader): Part {
  const parts = [readSequence(reader)]
  while (reader.tokens[reader.at] === '|') {
    reader.at++
    parts.push(readSequence(reader))
  }
  const first = parts.length === 1 ? parts[0] : undefined
  const choices = (next: State, building: Building) => parts.map((part) => part(next, building))
  return first ?? ((next, building) => makeState(choices(next, building), building))
}

function readSequence(reader: Reader): Part {
  const parts: Part[] = []
  for (let token = reader.tokens[reader.at]; token !== undefined; token = reader.tokens[reader.at]) {
    if (token === '|' || token === ')') break
    reader.at++
    parts.push(readRepeats(reader, readOne(reader, token)))
  }
  const fromLast = parts.toReversed()
  return (next, building) =>
    (building.isBackwards ? parts : fromLast).reduce((after, part) => part(after, building), next)
}

function readOne(reader: Reader, token: string): Part {
  const holds = places[token]
  if (holds !== undefined) return (next, building) => makeState([next], building, { holds })
  if (/^\\[1-9k]/.test(token)) throw refused(reader.source, 'refers back to what it found')
  if (token.startsWith('(')) return readGroup(reader, token)
  if (isCount(token)) throw refused(reader.source, 'has a group of a kind that is not known')
  const takes = charTest(token)
  return (next, building) => makeState([next], building, { takes })
}

function readGroup(reader: Reader, token: string): Part {
  const part = readChoice(reader)
  reader.at++
  if (!/^\(\?<?[=!]$/.test(token)) return part
  const isWanted = token.endsWith('=')
  const isBackwards = !token.includes('<')
  return (next, building) => {
    const { machines, looks: known } = building
    const index = known.get(part) ?? machines.push(makeMachine(part, { ...building, isBackwards })) - 1
    known.set(part, index)
    return makeState([next], building, { holds: ({ looks }, at) => (looks[index]?.[at] === 1) === isWanted })
  }
}

const isCount = (token: string | undefined): token is string => token !== undefined && /^(?:[*+?]|\{\d)/.test(token)

function readRepeats(reader: Reader, part: Part): Part {
  const token = reader.tokens[reader.at]
  if (!isCount(token)) return part
  reader.at++
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)/.exec(token) ?? []
  const min = Number(least ?? (token.startsWith('+') ? 1 : 0))
  const max = token.startsWith('?') ? 1 : comma === '' ? min : Number(most || Number.POSITIVE_INFINITY)
  return (next, building) => {
    let entry = makeState([next], building)
    if (max === Number.POSITIVE_INFINITY) entry.next.push(part(entry, building))
    else for (let left = max - min; left > 0; left--) entry = makeState([part(entry, building), next], building)
    // Each is counted, as a part may have no states of its own.
    for (let left = min; left > 0; left--) entry = makeState([part(entry, building)], building)
    return entry
  }
}

const isWord = charTest('\\w')
const isWordAt = ({ points }: Text, at: number): boolean => {
  const point = points[at]
  return point !== undefined && point < 128 && isWord(point)
}
const isEdge = (text: Text, at: number): boolean => isWordAt(text, at - 1) !== isWordAt(text, at)

const places: Readonly<Record<string, Demand['holds']>> = {
  '^': (_, at) => at === 0,
  $: ({ points }, at) => at === points.length,
  '\\b': isEdge,
  '\\B': (text, at) => !isEdge(text, at),
}

/** What a class, an escape or a letter takes: the platform is asked of one character at a time. */
function charTest(source: string): CharTest {
  const one = new RegExp(`^${source}$`, 'u')
  const asked = (point: number): boolean => one.test(String.fromCodePoint(point))
  const known = new Uint8Array(128)
  return (point) => {
    if (point > 127) return asked(point)
    known[point] ||= asked(point) ? 1 : 2
    return known[point] === 1
  }
}
