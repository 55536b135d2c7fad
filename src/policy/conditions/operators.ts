import { ask, compileOperand, type Expression, type Operands } from './place.ts'
import { Fault, isOpen, isScalar, isTruthy, type Kind, type Read as Run, undecided, type Value } from './values.ts'

/** An operator by how many operands it takes, at least and at most. */
export interface Operator {
  readonly operands: readonly [least: number, most: number]
  readonly compile: (operands: Operands) => Expression
}

/** What an operator does whose operands are all expressions, as far as they are known when it is compiled. */
type Make = (runs: readonly Run[]) => Run

const many = Number.POSITIVE_INFINITY

/** The operators whose operands are all expressions. The others, which take paths or a scope, are in `forms.ts`. */
export const operators: Readonly<Record<string, Operator>> = {
  '==': equality('==', true),
  '===': equality('===', true),
  '!=': equality('!=', false),
  '!==': equality('!==', false),
  '!': truth(false),
  '!!': truth(true),
  and: junction('and', false),
  or: junction('or', true),
  '>': comparison('>', 2, (a, b) => a > b),
  '>=': comparison('>=', 2, (a, b) => a >= b),
  '<': comparison('<', 3, (a, b) => a < b),
  '<=': comparison('<=', 3, (a, b) => a <= b),
  '+': arithmetic('+', [2, many], (a, b) => a + b),
  '-': arithmetic('-', [1, 2], (a, b) => a - b),
  '*': arithmetic('*', [2, many], (a, b) => a * b),
  '/': arithmetic('/', [2, 2], (a, b) => a / b),
  '%': arithmetic('%', [2, 2], (a, b) => a % b),
  min: arithmetic('min', [1, many], Math.min),
  max: arithmetic('max', [1, many], Math.max),
}

function predicate(operands: Operator['operands'], takes: readonly Kind[] | undefined, make: Make): Operator {
  const compile = (given: Operands): Expression => {
    const { list, at } = given
    const runs = list.map((_, index) => compileOperand(given, index, takes).run)
    list.forEach((operand, index) => {
      if (takes?.length === 1) ask(operand, at(index), 'truth', () => undefined)
      else if (takes) for (const run of runs.toSpliced(index, 1)) ask(operand, at(index), 'equal', run)
    })
    return { run: make(runs), gives: 'boolean' }
  }
  return { operands, compile }
}

const absent: Run = () => undefined

function equality(name: string, same: boolean): Operator {
  const fault = new Fault(`\`${name}\` compares text, numbers, true and false`)
  return predicate([2, 2], ['boolean', 'number', 'text'], ([a = absent, b = absent]) => (scope) => {
    const x = a(scope)
    const y = b(scope)
    return isScalar(x) && isScalar(y) ? (x === y) === same : unfit([x, y], isScalar, fault)
  })
}

/** The explicit question whether there is something: it decides over an absent fact too. */
function truth(wanted: boolean): Operator {
  return predicate([1, 1], undefined, ([run = absent]) => (scope) => {
    const value = run(scope)
    return value === undecided || value instanceof Fault ? value : isTruthy(value) === wanted
  })
}

/** `and`, `or`: what decides alone stops it, an open operand leaves it open, and a fault is a fault. */
function junction(name: string, decisive: boolean): Operator {
  const fault = new Fault(`\`${name}\` joins true and false`)
  return predicate([1, many], ['boolean'], (runs) => (scope) => {
    let open = false
    for (const run of runs) {
      const value = run(scope)
      if (value === decisive) return decisive
      if (value === !decisive) continue
      if (!isOpen(value)) return value instanceof Fault ? value : fault
      open = true
    }
    return open ? undecided : !decisive
  })
}

type Compared = number | string

function comparison(name: string, most: number, holds: (a: Compared, b: Compared) => boolean): Operator {
  const fault = new Fault(`\`${name}\` compares two numbers or two texts`)
  const compare = (x: Value, y: Value): Value => {
    if (typeof x === 'number' && typeof y === 'number') return holds(x, y)
    if (typeof x === 'string' && typeof y === 'string') return holds(x, y)
    return isOrdered(x) && isOrdered(y) ? fault : unfit([x, y], isOrdered, fault)
  }
  const both = (low: Value, high: Value): Value => {
    if (low instanceof Fault) return low
    if (high instanceof Fault) return high
    if (low === false || high === false) return false
    return low === true ? high : low
  }
  return predicate([2, most], ['number', 'text'], ([a = absent, b = absent, last]) => {
    if (last === undefined) return (scope) => compare(a(scope), b(scope))
    return (scope) => {
      const middle = b(scope)
      return both(compare(a(scope), middle), compare(middle, last(scope)))
    }
  })
}

const isOrdered = (value: Value): boolean => typeof value === 'number' || typeof value === 'string'
const isNumber = (value: Value): value is number => typeof value === 'number'

function arithmetic(name: string, operands: Operator['operands'], apply: (a: number, b: number) => number): Operator {
  const kind = new Fault(`\`${name}\` calculates with numbers`)
  const range = new Fault(`\`${name}\` came to no finite number`)
  const compile = (given: Operands): Expression => {
    const runs = given.list.map((_, index) => compileOperand(given, index, ['number']).run)
    // `-` of one operand turns its sign.
    const start = name === '-' && runs.length === 1 ? [0] : []
    const run = (scope: Value): Value => {
      const values = [...start, ...runs.map((each) => each(scope))]
      if (!values.every(isNumber)) return unfit(values, isNumber, kind)
      const result = values.reduce((a, b) => apply(a, b))
      return Number.isFinite(result) ? result : range
    }
    return { run, gives: 'number' }
  }
  return { operands, compile }
}

/** A fault among the operands first, then an operand of the wrong kind; otherwise one is absent, and the answer open. */
export function unfit(
  values: readonly Value[],
  fits: (value: Value) => boolean,
  fault: Fault,
): Fault | typeof undecided {
  const handedUp = values.find((value) => value instanceof Fault)
  if (handedUp instanceof Fault) return handedUp
  return values.some((value) => !isOpen(value) && !fits(value)) ? fault : undecided
}
