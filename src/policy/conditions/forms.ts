import type { Json } from '../../base/canonical.ts'
import { type Operator, unfit } from './operators.ts'
import { ask, compileOperand, compileRead, type Expression, type Operands, type Place, refusal } from './place.ts'
import { Fault, isOpen, isScalar, undecided, type Value } from './values.ts'

const many = Number.POSITIVE_INFINITY

/** The operators that take more than expressions: paths, a list as it stands, branches, or a test for each item. */
export const forms: Readonly<Record<string, Operator>> = {
  var: { operands: [1, 2], compile: variable },
  missing: { operands: [1, many], compile: missing },
  missing_some: { operands: [2, 2], compile: missingSome },
  if: { operands: [3, many], compile: branches },
  in: { operands: [2, 2], compile: membership },
  some: { operands: [2, 2], compile: (operands) => quantifier(operands, { stop: true, answer: true, none: false }) },
  all: { operands: [2, 2], compile: (operands) => quantifier(operands, { stop: false, answer: false, none: false }) },
  none: { operands: [2, 2], compile: (operands) => quantifier(operands, { stop: true, answer: false, none: true }) },
}

/** A fact, or its default where it is absent. */
function variable({ list: [path, ...defaults], at }: Operands): Expression {
  const read = compileRead(path, at(0))
  if (defaults.length === 0) return { run: read, gives: undefined }
  const [value = null] = defaults
  if (!isScalar(value) && !(Array.isArray(value) && value.length === 0))
    throw refusal(at(1), 'a default is text, a number, true, false or an empty list')
  const run = (scope: Value): Value => {
    const found = read(scope)
    return found === undefined ? value : found
  }
  return { run, gives: undefined }
}

/** The paths, of those named, that lead to nothing. */
function missing({ list, at }: Operands): Expression {
  const reads = list.map((path, index) => [path, compileRead(path, at(index))] as const)
  return { run: (scope) => absentAmong(reads, scope), gives: 'list' }
}

/** As `missing`, but an empty list as soon as enough of the facts are there. */
function missingSome({ list: [least, paths], at }: Operands): Expression {
  if (typeof least !== 'number' || !Number.isInteger(least) || least < 1)
    throw refusal(at(0), 'how many facts must be there is a whole number from 1')
  if (!Array.isArray(paths) || paths.length < least)
    throw refusal(at(1), `a list of ${least} paths or more is expected`)
  const place = at(1)
  const reads = (paths as readonly Json[]).map((path) => [path, compileRead(path, place)] as const)
  const run = (scope: Value): Value => {
    const absent = absentAmong(reads, scope)
    return Array.isArray(absent) && reads.length - absent.length >= least ? [] : absent
  }
  return { run, gives: 'list' }
}

function absentAmong(reads: readonly (readonly [Json, Expression['run']])[], scope: Value): Value {
  const absent: Json[] = []
  for (const [path, read] of reads) {
    const value = read(scope)
    if (value instanceof Fault && !value.isThere) return value
    if (value === undefined) absent.push(path)
  }
  return absent
}

/** `if`: condition, value, condition, value, …, and the value otherwise, which must be there. */
function branches(operands: Operands): Expression {
  const { list, at } = operands
  if (list.length % 2 === 0)
    throw refusal(at(list.length - 1), '`if` needs a value for when no condition holds', 'add one operand at the end')
  let chosen = compileOperand(operands, list.length - 1)
  for (let index = list.length - 3; index >= 0; index -= 2) {
    const condition = compileOperand(operands, index, ['boolean'])
    ask(list[index], at(index), 'truth', () => undefined)
    chosen = choice(condition, compileOperand(operands, index + 1), chosen)
  }
  return chosen
}

/** An open condition still decides where both branches come to the same text, number or truth. */
function choice(condition: Expression, yes: Expression, no: Expression): Expression {
  const run = (scope: Value): Value => {
    const holds = condition.run(scope)
    if (holds === true) return yes.run(scope)
    if (holds === false) return no.run(scope)
    if (!isOpen(holds)) return holds instanceof Fault ? holds : notBoolean
    const left = yes.run(scope)
    const right = no.run(scope)
    if (left instanceof Fault) return left
    if (right instanceof Fault) return right
    return left === right && typeof left !== 'object' ? left : undecided
  }
  return { run, gives: yes.gives === no.gives ? yes.gives : undefined }
}

const notBoolean = new Fault('`if` asks for true or false')

/** `in`: a value in a list, which may stand there as it is, or text in text. */
function membership(operands: Operands): Expression {
  const { list, at } = operands
  const needle = compileOperand(operands, 0, ['boolean', 'number', 'text'])
  const constants = list[1]
  if (Array.isArray(constants)) {
    const all = constantsIn(constants, at(1))
    ask(list[0], at(0), 'among', () => constants)
    return { run: (scope) => within(needle.run(scope), (value) => all.has(value)), gives: 'boolean' }
  }
  const haystack = compileOperand(operands, 1, ['text', 'list'])
  ask(list[1], at(1), 'holds', needle.run)
  ask(list[0], at(0), 'among', haystack.run)
  return { run: (scope) => contains(haystack.run(scope), needle.run(scope)), gives: 'boolean' }
}

function constantsIn(list: readonly Json[], place: Place): ReadonlySet<Json> {
  if (list.every(isScalar)) return new Set(list)
  throw refusal(place, 'a list that stands in a condition holds text, numbers, true and false alone')
}

const notIn = new Fault('`in` looks for a value in a list, or for text in text')

const within = (needle: Value, has: (value: Json) => boolean): Value =>
  isScalar(needle) ? has(needle) : unfit([needle], isScalar, notIn)

function contains(haystack: Value, needle: Value): Value {
  if (Array.isArray(haystack) && isScalar(needle)) return haystack.includes(needle)
  if (typeof haystack === 'string' && typeof needle === 'string') return haystack.includes(needle)
  if (needle instanceof Fault) return needle
  if (haystack instanceof Fault) return haystack
  const fits = (isOpen(needle) || isScalar(needle)) && (isOpen(haystack) || isSearchable(haystack))
  return fits && (isOpen(needle) || isOpen(haystack)) ? undecided : notIn
}

const isSearchable = (value: Value): boolean => Array.isArray(value) || typeof value === 'string'

interface Quantifier {
  /** The test result that ends the search, what it answers, and what no item at all answers. */
  readonly stop: boolean
  readonly answer: boolean
  readonly none: boolean
}

/** `some`, `all`, `none` over a list among the facts. None of them holds of an empty list but `none`. */
function quantifier(operands: Operands, { stop, answer, none }: Quantifier): Expression {
  const { name, at } = operands
  const items = compileOperand(operands, 0, ['list'])
  const test = compileOperand({ ...operands, at: (index) => ({ ...at(index), inItem: true }) }, 1, ['boolean'])
  const noList = new Fault(`\`${name}\` looks through a list`)
  const noTest = new Fault(`\`${name}\` asks of each item for true or false`)
  const run = (scope: Value): Value => {
    const list = items.run(scope)
    if (!Array.isArray(list)) return unfit([list], Array.isArray, noList)
    let open = false
    for (const item of list as readonly Json[]) {
      const value = test.run(item)
      if (value === stop) return answer
      if (value === !stop) continue
      if (!isOpen(value)) return value instanceof Fault ? value : noTest
      open = true
    }
    if (open) return undecided
    return list.length === 0 ? none : !answer
  }
  return { run, gives: 'boolean' }
}
