import type { Steps } from '../../base/steps.ts'
import { type PatternPart, readPattern } from './pattern-syntax.ts'

/**
 * A regular expression that takes no more steps than it has states for each character of a text: all ways through it
 * are followed at once. It finds what the one of the platform finds, which may try them one after the other for ever.
 * Its states are counted as steps, and so is every step that a test takes.
 */
export function compilePattern(source: string, steps: Steps): { test(text: string): boolean; toString(): string } {
  const machines: Machine[] = []
  machines.push(machineOf(readPattern(source), { isBackwards: false, machines, steps, tests: new Map() }))
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
interface State {
  readonly next: State[]
  readonly takes: CharTest | undefined
  readonly holds: ((text: Text, at: number) => boolean) | undefined
  /** The last turn in which it was reached. */
  turn: number
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
  readonly steps: Steps
  readonly tests: Map<string, CharTest>
}

function machineOf(whole: PatternPart, building: Building): Machine {
  const { isBackwards, machines, steps, tests } = building
  const looks = new Map<PatternPart, number>()
  const state = (next: State[], more: Partial<Pick<State, 'takes' | 'holds'>> = {}): State => {
    steps.spend(1)
    return { next, takes: more.takes, holds: more.holds, turn: 0 }
  }
  const lookOf = (look: PatternPart & { kind: 'look' }): number => {
    const machine = () => machineOf(look.part, { ...building, isBackwards: !look.isBehind })
    const index = looks.get(look) ?? machines.push(machine()) - 1
    looks.set(look, index)
    return index
  }
  const testOf = (source: string): CharTest => {
    const test = tests.get(source) ?? charTest(source)
    tests.set(source, test)
    return test
  }
  /** The state from which a part leads to the next. */
  const before = (part: PatternPart, next: State): State => {
    switch (part.kind) {
      case 'char':
        return state([next], { takes: testOf(part.source) })
      case 'place':
        return state([next], { holds: places[part.source] })
      case 'any':
        return state(part.parts.map((option) => before(option, next)))
      case 'all':
        return (isBackwards ? part.parts : part.parts.toReversed()).reduce((after, each) => before(each, after), next)
      case 'look': {
        const index = lookOf(part)
        return state([next], { holds: ({ looks: known }, at) => (known[index]?.[at] === 1) === part.isWanted })
      }
      case 'repeat':
        return repeat(part, next)
    }
  }
  const repeat = ({ part, min, max }: PatternPart & { kind: 'repeat' }, next: State): State => {
    let entry = state([next])
    if (max === Number.POSITIVE_INFINITY) entry.next.push(before(part, entry))
    else for (let left = max - min; left > 0; left--) entry = state([before(part, entry), next])
    // Each is counted, as a part may have no states of its own.
    for (let left = min; left > 0; left--) entry = state([before(part, entry)])
    return entry
  }
  return { start: before(whole, state([])), isBackwards, turn: 0 }
}

const isWord = charTest('\\w')
const isWordAt = ({ points }: Text, at: number): boolean => {
  const point = points[at]
  return point !== undefined && point < 128 && isWord(point)
}
const isEdge = (text: Text, at: number): boolean => isWordAt(text, at - 1) !== isWordAt(text, at)

const places = {
  '^': (_: Text, at: number) => at === 0,
  $: ({ points }: Text, at: number) => at === points.length,
  '\\b': isEdge,
  '\\B': (text: Text, at: number) => !isEdge(text, at),
} as const

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
