import type { Json } from '../../base/canonical.ts'
import { Fault, isOpen, isScalar, isTruthy, type Kind, undecided, type Value } from './values.ts'

/** A compiled expression; `gives` is the kind of its value where that is known before it runs. */
export interface Expression {
  readonly run: (scope: Value) => Value
  readonly gives: Kind | undefined
}

export interface Operator {
  /** How many operands, at least and at most. */
  readonly operands: readonly [least: number, most: number]
  /** The kinds an operand may be of; undefined for all. */
  readonly takes: readonly Kind[] | undefined
  readonly gives: Kind | undefined
  readonly make: (operands: readonly Expression[]) => Expression['run']
}

const scalars: readonly Kind[] = ['boolean', 'number', 'text']
const many = Number.POSITIVE_INFINITY

/** The operators whose operands are all expressions. The others, which take paths or a scope, are in `condition.ts`. */
export const operators: Readonly<Record<string, Operator>> = {
  '==': { operands: [2, 2], takes: scalars, gives: 'boolean', make: equality('==', true) },
  '===': { operands: [2, 2], takes: scalars, gives: 'boolean', make: equality('===', true) },
  '!=': { operands: [2, 2], takes: scalars, gives: 'boolean', make: equality('!=', false) },
  '!==': { operands: [2, 2], takes: scalars, gives: 'boolean', make: equality('!==', false) },
  '!': { operands: [1, 1], takes: undefined, gives: 'boolean', make: truth(false) },
  '!!': { operands: [1, 1], takes: undefined, gives: 'boolean', make: truth(true) },
  and: { operands: [1, many], takes: ['boolean'], gives: 'boolean', make: junction('and', false) },
  or: { operands: [1, many], takes: ['boolean'], gives: 'boolean', make: junction('or', true) },
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

function equality(name: string, same: boolean): Operator['make'] {
  const fault = new Fault(`\`${name}\` compares text, numbers, true and false`)
  return ([left, right]) => {
    const [a, b] = pair(left, right)
    return (scope) => {
      const x = a(scope)
      const y = b(scope)
      return isScalar(x) && isScalar(y) ? (x === y) === same : unfit([x, y], isScalar, fault)
    }
  }
}

/** The explicit question whether there is something: it decides over an absent fact too. */
function truth(wanted: boolean): Operator['make'] {
  return ([operand]) => {
    const run = runOf(operand)
    return (scope) => {
      const value = run(scope)
      if (value === undecided || value instanceof Fault) return value
      return isTruthy(value as Json | undefined) === wanted
    }
  }
}

/** `and`, `or`: what decides alone stops it, an open operand leaves it open, and a fault is a fault. */
function junction(name: string, decisive: boolean): Operator['make'] {
  const fault = new Fault(`\`${name}\` joins true and false`)
  return (operands) => {
    const runs = operands.map(({ run }) => run)
    return (scope) => {
      let open = false
      for (const run of runs) {
        const value = run(scope)
        if (value === decisive) return decisive
        if (value === !decisive) continue
        if (!isOpen(value)) return value instanceof Fault ? value : fault
        open = true
      }
      return open ? undecided : !decisive
    }
  }
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
  const make: Operator['make'] = ([left, right, last]) => {
    const [a, b] = pair(left, right)
    if (last === undefined) return (scope) => compare(a(scope), b(scope))
    return (scope) => {
      const middle = b(scope)
      return both(compare(a(scope), middle), compare(middle, last.run(scope)))
    }
  }
  return { operands: [2, most], takes: ['number', 'text'], gives: 'boolean', make }
}

const isOrdered = (value: Value): boolean => typeof value === 'number' || typeof value === 'string'
const isNumber = (value: Value): value is number => typeof value === 'number'

function arithmetic(name: string, operands: Operator['operands'], apply: (a: number, b: number) => number): Operator {
  const kind = new Fault(`\`${name}\` calculates with numbers`)
  const range = new Fault(`\`${name}\` came to no finite number`)
  const finite = (result: number): Value => (Number.isFinite(result) ? result : range)
  const make: Operator['make'] = (expressions) => {
    const runs = expressions.map(({ run }) => run)
    const [first, second] = expressions
    // `-` of one operand turns its sign. Two operands are the common case, and need no list.
    const start = name === '-' && runs.length === 1 ? [0] : []
    if (runs.length !== 2)
      return (scope) => {
        const values = [...start, ...runs.map((run) => run(scope))]
        return values.every(isNumber) ? finite(values.reduce((a, b) => apply(a, b))) : unfit(values, isNumber, kind)
      }
    const [a, b] = pair(first, second)
    return (scope) => {
      const x = a(scope)
      const y = b(scope)
      return isNumber(x) && isNumber(y) ? finite(apply(x, y)) : unfit([x, y], isNumber, kind)
    }
  }
  return { operands, takes: ['number'], gives: 'number', make }
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

type Run = Expression['run']

const runOf = (operand: Expression | undefined): Run => operand?.run ?? (() => undefined)

const pair = (left: Expression | undefined, right: Expression | undefined): readonly [Run, Run] => [
  runOf(left),
  runOf(right),
]
