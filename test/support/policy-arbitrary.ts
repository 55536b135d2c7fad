// Random conditions, policies and facts, small enough that rules often meet facts.

import fc from 'fast-check'
import type { Json } from '../../src/base/canonical.ts'
import { policyDecision } from '../../src/model/evidence.ts'
import type { Policy } from '../../src/model/policy.ts'

const fields = ['count', 'size', 'word', 'name', 'flag', 'list', 'rows', 'deep', 'gone']
const paths = [...fields.map((name) => `context.${name}`), 'context.deep.count', 'context.list.1', 'purpose', 'now']

const path = fc.constantFrom(...paths)
const smallNumber = fc.constantFrom(-1, 0, 1, 2, 2.5, 10)
const word = fc.constantFrom('', 'a', 'b', 'ab', '1')
const scalar: fc.Arbitrary<Json> = fc.oneof(smallNumber, word, fc.boolean())

const factsOf = (value: Record<string, fc.Arbitrary<Json>>, whole = false): fc.Arbitrary<Record<string, Json>> =>
  fc.record(value, whole ? { noNullPrototype: true } : { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<
    Record<string, Json>
  >

const itemOf = (whole: boolean): fc.Arbitrary<Json> =>
  factsOf({ count: smallNumber, gone: smallNumber, word, flag: fc.boolean(), list: fc.array(scalar) }, whole)

const typedFacts = (whole: boolean): fc.Arbitrary<Record<string, Json>> =>
  factsOf(
    {
      context: factsOf(
        {
          count: smallNumber,
          size: smallNumber,
          word,
          name: word,
          flag: fc.boolean(),
          list: fc.array(scalar, { maxLength: 3 }),
          rows: fc.array(itemOf(whole), { maxLength: 3 }),
          deep: factsOf({ count: smallNumber }, whole),
          ...(whole && { gone: smallNumber }),
        },
        whole,
      ),
      purpose: word,
      now: fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-07-01T00:00:00.000Z'),
    },
    whole,
  )

/** Facts of the right kinds, some of them not there. */
export const facts = typedFacts(false)

/** Facts of the right kinds, all of them there. */
export const wholeFacts = typedFacts(true)

/** Facts of any kind at all. */
export const wildFacts: fc.Arbitrary<Record<string, Json>> = factsOf({
  context: factsOf(Object.fromEntries(fields.map((name) => [name, anything()]))),
  purpose: anything(),
  now: anything(),
})

function anything(): fc.Arbitrary<Json> {
  return fc.oneof(scalar, fc.constant(null), fc.array(scalar, { maxLength: 2 }), itemOf(false))
}

const kinds: Readonly<Record<'number' | 'text' | 'boolean' | 'list', readonly string[]>> = {
  number: ['context.count', 'context.size', 'context.deep.count', 'context.gone'],
  text: ['context.word', 'context.name', 'purpose', 'now'],
  boolean: ['context.flag'],
  list: ['context.list', 'context.rows'],
}

type Paths = typeof kinds
const ofItem: Paths = { number: ['count', 'gone'], text: ['word'], boolean: ['flag'], list: ['list'] }

interface Wish {
  /** Every fact is used as what it is; otherwise any fact as anything. */
  readonly typed?: boolean
  /** Nothing in it asks whether a fact is there. */
  readonly trusting?: boolean
}

export const conditions = (wish: Wish = {}, depth = 3, named: Paths = kinds): fc.Arbitrary<Json> => {
  const leaf = leaves(wish, named, depth > 1)
  if (depth === 0) return leaf
  const inner = conditions(wish, depth - 1, named)
  const rows = wish.typed ? fc.constant({ var: 'context.rows' }) : fact('list', wish, named)
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    several('and', inner),
    several('or', inner),
    // `!` of a fact alone asks whether it is there.
    operation(['!'], wish.trusting ? several('and', inner) : inner),
    operation(['if'], inner, inner, inner),
    operation(['if'], inner, inner, inner, inner, inner),
    operation(['some', 'all', 'none'], rows, conditions(wish, 0, ofItem)),
  )
}

function leaves(wish: Wish, named: Paths, calculating: boolean): fc.Arbitrary<Json> {
  const number = numbers(wish, named, calculating)
  const text = fc.oneof(word, fact('text', wish, named))
  const truth = fact('boolean', wish, named)
  const any = fc.oneof(number, text, truth)
  const alike = wish.typed ? [number, text, truth].map((kind) => operation(equalities, kind, kind)) : []
  const absence = fc.array(path, { minLength: 2, maxLength: 3 })
  return fc.oneof(
    operation(['>', '>=', '<', '<='], number, number),
    operation(['<', '<='], number, number, number),
    operation(['>', '<='], text, text),
    operation(wish.typed ? ['===', '!=='] : equalities, any, any),
    ...alike,
    operation(['in'], any, fc.array(scalar, { maxLength: 3 })),
    operation(['in'], text, wish.typed ? fc.constantFrom('a', 'ab', 'b1') : text),
    operation(['in'], any, fact('list', wish, named)),
    truth,
    fc.boolean(),
    ...(wish.trusting ? [] : [operation(['!', '!!'], any), asked(absence.map((list) => ({ missing: list })))]),
    ...(wish.trusting ? [] : [asked(absence.map((list) => ({ missing_some: [1, list] })))]),
  )
}

const equalities = ['==', '===', '!=', '!==']
const asked = (list: fc.Arbitrary<Json>): fc.Arbitrary<Json> => operation(['!', '!!'], list)

function numbers(wish: Wish, named: Paths, calculating: boolean): fc.Arbitrary<Json> {
  const plain = fc.oneof(smallNumber, fact('number', wish, named))
  if (!calculating) return plain
  const calculated = ['+', '*', 'min', 'max'].map((name) => several(name, plain))
  return fc.oneof(
    { weight: 3, arbitrary: plain },
    operation(['-', '/', '%'], plain, plain),
    operation(['-'], plain),
    ...calculated,
  )
}

function fact(kind: keyof Paths, { typed, trusting }: Wish, named: Paths): fc.Arbitrary<Json> {
  const all = named === kinds ? paths : Object.values(named).flat()
  const name = fc.constantFrom(...(typed ? named[kind] : all))
  const plain = name.map((found): Json => ({ var: found }))
  return kind !== 'number' || trusting
    ? plain
    : fc.oneof(
        plain,
        name.map((found): Json => ({ var: [found, 1] })),
      )
}

const operation = (names: readonly string[], ...operands: fc.Arbitrary<Json>[]): fc.Arbitrary<Json> =>
  fc.tuple(fc.constantFrom(...names), fc.tuple(...operands)).map(([name, list]) => ({ [name]: list }))

const several = (name: string, operand: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.array(operand, { minLength: 2, maxLength: 3 }).map((list) => ({ [name]: list }))

const scopes = fc.constantFrom('depot.release', 'depot.read', 'depot.*', 'desk.*', '*')
export const capabilities = fc.constantFrom('depot.release', 'depot.read', 'desk.open', 'other')

const rule = (wish: Wish) =>
  fc.record({ when: conditions(wish, 2), decision: fc.constantFrom(...policyDecision.options) })

/** Policies whose names and rule ids differ. */
export const policies = (wish: Wish = {}): fc.Arbitrary<readonly Policy[]> =>
  fc
    .array(
      fc.record({
        applies_to: fc.array(scopes, { minLength: 1, maxLength: 2 }),
        rules: fc.array(rule(wish), { maxLength: 4 }),
      }),
      { maxLength: 4 },
    )
    .map((made) =>
      made.map(({ applies_to, rules }, index) => ({
        name: `p${index}`,
        version: '1',
        applies_to,
        rules: rules.map((rule, place) => ({ id: `r${place}`, ...rule })),
      })),
    )
